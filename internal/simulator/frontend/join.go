package frontend

import (
	"io"
	"net"
	"sync"
)

// Join copies in both directions until both are closed.
func Join(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { pour(a, b) })
	pour(b, a)
	wg.Wait()
}

// pour copies in one direction and then closes that half of the connection.
func pour(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}
