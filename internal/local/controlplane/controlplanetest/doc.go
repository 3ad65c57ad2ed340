// Package controlplanetest lends the tests of a package one real API server.
//
//	func TestMain(m *testing.M) { controlplanetest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cluster := controlplanetest.Shared(t)
//		c, err := client.New(cluster.RESTConfig(), client.Options{})
//		…
//	}
//
// It starts when the first test asks for it and ends with the test binary.
// Tests keep apart by using a namespace of their own (Namespace). Packages run
// beside each other in processes of their own and so share nothing.
package controlplanetest
