package servicebus

import (
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// AZURE §8: "namespace is a bare name (.servicebus.windows.net is added) or a
// full host name".
func TestEndpoints(t *testing.T) {
	for _, test := range []struct {
		endpoint, namespace string
		plain               bool
		host, address       string // "": not valid
	}{
		{DefaultEndpoint, "ns", false, "ns.servicebus.windows.net", "ns.servicebus.windows.net:5671"},
		{DefaultEndpoint, "NS-1", false, "NS-1.servicebus.windows.net", "NS-1.servicebus.windows.net:5671"},
		{DefaultEndpoint, "ns:443", false, "ns.servicebus.windows.net", "ns.servicebus.windows.net:443"},
		{DefaultEndpoint, "ns.servicebus.chinacloudapi.cn", false, "ns.servicebus.chinacloudapi.cn", "ns.servicebus.chinacloudapi.cn:5671"},
		{DefaultEndpoint, "ns.example.com:7", false, "ns.example.com", "ns.example.com:7"},
		{DefaultEndpoint, "10.0.0.1", false, "10.0.0.1", "10.0.0.1:5671"},
		{"sb://{namespace}.servicebus.chinacloudapi.cn", "ns", false, "ns.servicebus.chinacloudapi.cn", "ns.servicebus.chinacloudapi.cn:5671"},
		{"sb://{namespace}.servicebus.chinacloudapi.cn/", "ns", false, "ns.servicebus.chinacloudapi.cn", "ns.servicebus.chinacloudapi.cn:5671"},
		{"amqps://bus-{namespace}.example.com:99", "ns", false, "bus-ns.example.com", "bus-ns.example.com:99"},
		{"amqps://{namespace}", "ns", false, "ns", "ns:5671"},
		{"amqp://127.0.0.1", "ns", true, "127.0.0.1", "127.0.0.1:5672"},
		{"amqp://localhost:7", "ns.example.com:8", true, "localhost", "localhost:7"},
		{"amqps://[::1]:7", "ns", false, "::1", "[::1]:7"},
		{DefaultEndpoint, "", false, "", ""},
		{DefaultEndpoint, "ns:", false, "", ""},
		{DefaultEndpoint, "ns:0", false, "", ""},
		{DefaultEndpoint, "ns:65536", false, "", ""},
		{DefaultEndpoint, "ns/x", false, "", ""},
		{DefaultEndpoint, "u@ns", false, "", ""},
		{DefaultEndpoint, "ns;EntityPath=x", false, "", ""},
		{DefaultEndpoint, "{namespace}", false, "", ""},
	} {
		e, err := parseEndpoint(test.endpoint)
		if err != nil || e.plain != test.plain {
			t.Errorf("%s: plain %v, %v", test.endpoint, e.plain, err)
		}
		host, address, ok := e.resolve(test.namespace)
		if host != test.host || address != test.address || ok != (test.host != "") {
			t.Errorf("%s, %q: host %q, address %q, %v", test.endpoint, test.namespace, host, address, ok)
		}
	}
}

func TestEndpointsThatAreNone(t *testing.T) {
	for endpoint, want := range map[string]string{
		"{namespace}.servicebus.windows.net":         "the scheme is none of amqps, sb and amqp",
		"https://{namespace}.servicebus.windows.net": "the scheme is none of amqps, sb and amqp",
		"amqps:///": "this is no SCHEME://HOST",
		"amqps://{namespace}.{namespace}.example.com":  "with {namespace} once at most",
		"amqps://{name}.servicebus.windows.net":        "this is no SCHEME://HOST",
		"amqps://host/path":                            "this is no SCHEME://HOST",
		"amqps://u@host":                               "this is no SCHEME://HOST",
		"amqps://host:0":                               "a port is 1 to 65535",
		"amqps://host:x":                               "a port is 1 to 65535",
		"Endpoint=sb://x;SharedAccessKey=not for here": "the scheme is none of",
	} {
		_, err := New(Config{Network: outbound.NewNetwork(outbound.NetworkConfig{}), Endpoint: endpoint})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if _, err := New(Config{Endpoint: "x"}); err == nil || !strings.Contains(err.Error(), "network") || !strings.Contains(err.Error(), "scheme") {
		t.Errorf("both faults at once: %v", err)
	}
}
