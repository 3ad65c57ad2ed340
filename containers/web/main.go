// Command web is what tests run in pods. Without arguments it serves HTTP on port 8080 and answers
// with its host name; "web get URL" prints the answer of a server, "web put URL" that to a PUT
// request, and "web lookup NAME" the addresses of a name.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0:
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		fmt.Println("web: serving as", name)
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, name)
		}))
	case len(args) == 2 && (args[0] == "get" || args[0] == "put"):
		client := &http.Client{Timeout: 5 * time.Second}
		request, err := http.NewRequest(strings.ToUpper(args[0]), args[1], http.NoBody)
		if err != nil {
			return err
		}
		request.Header.Set("X-aws-ec2-metadata-token-ttl-seconds", "60")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		_, err = io.Copy(os.Stdout, response.Body)
		return err
	case len(args) == 2 && args[0] == "lookup":
		addresses, err := net.LookupHost(args[1])
		fmt.Println(addresses)
		return err
	}
	return fmt.Errorf("usage: web [get URL | put URL | lookup NAME], not %q", args)
}
