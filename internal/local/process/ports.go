package process

import (
	"fmt"
	"net"
)

// FreePorts returns count different TCP ports of 127.0.0.1 that were free a moment
// ago. It returns an error when the system has none.
func FreePorts(count int) ([]int, error) {
	ports := make([]int, 0, count)
	for range count {
		// All stay open until the last is found, so that none is found twice.
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		addr, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("find a free port: %s is no TCP address", listener.Addr())
		}
		ports = append(ports, addr.Port)
	}
	return ports, nil
}
