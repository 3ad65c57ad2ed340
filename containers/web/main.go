// Command web is what tests run in pods. Without arguments it serves HTTP on port 8080 and answers
// with its host name; "web get URL" prints the answer of a server; "web lookup NAME" prints addresses.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
	case len(args) == 2 && args[0] == "get":
		client := &http.Client{Timeout: 5 * time.Second}
		response, err := client.Get(args[1])
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
	return fmt.Errorf("usage: web [get URL | lookup NAME], not %q", args)
}
