package gosdk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
	"software.sslmate.com/src/go-pkcs12"
)

// An actionRow is an action as it is put, and as it is answered: all of it but
// the secrets, each word spelled as the live service spelled it.
type actionRow struct {
	name      string
	put, want scheduler.JobAction
	secret    string // field that holds the secret
}

func actionRows(t *testing.T) []actionRow {
	certificate, put := newCertificate(t)
	return []actionRow{
		{
			name: "http",
			put:  scheduler.JobAction{Type: "HTTP", Request: request(nil)},
			want: scheduler.JobAction{Type: scheduler.HTTP, Request: request(nil)},
		},
		{
			name: "https",
			put:  scheduler.JobAction{Type: scheduler.HTTPS, Request: request(nil)},
			want: scheduler.JobAction{Type: scheduler.HTTPS, Request: request(nil)},
		},
		{
			name:   "basic",
			put:    scheduler.JobAction{Type: scheduler.HTTPS, Request: request(scheduler.BasicAuthentication{Username: new("quasimodo"), Password: new(secret)})},
			want:   scheduler.JobAction{Type: scheduler.HTTPS, Request: request(scheduler.BasicAuthentication{Type: scheduler.TypeBasic, Username: new("quasimodo")})},
			secret: "request.authentication.password",
		},
		{
			name:   "certificate",
			put:    scheduler.JobAction{Type: scheduler.HTTPS, Request: request(put)},
			want:   scheduler.JobAction{Type: scheduler.HTTPS, Request: request(certificate)},
			secret: "request.authentication.pfx",
		},
		{
			name: "oauth",
			put: scheduler.JobAction{Type: scheduler.HTTPS, Request: request(scheduler.OAuthAuthentication{
				Tenant: new("contoso.com"), Audience: new("https://bells.example"), ClientID: new("5f3c"), Secret: new(secret),
			})},
			want: scheduler.JobAction{Type: scheduler.HTTPS, Request: request(scheduler.OAuthAuthentication{
				Tenant: new("contoso.com"), Audience: new("https://bells.example"), ClientID: new("5f3c"), Type: scheduler.TypeActiveDirectoryOAuth,
			})},
			secret: "request.authentication.secret",
		},
		{
			name: "storage queue",
			put: scheduler.JobAction{Type: scheduler.StorageQueue, QueueMessage: &scheduler.StorageQueueMessage{
				StorageAccount: new("belfry"), QueueName: new("bells"), SasToken: new("?sv=2015-04-05&sig=" + secret), Message: new("<ring> & \"ring\""),
			}},
			want: scheduler.JobAction{Type: scheduler.StorageQueue, QueueMessage: &scheduler.StorageQueueMessage{
				StorageAccount: new("belfry"), QueueName: new("bells"), Message: new("<ring> & \"ring\""),
			}},
			secret: "queueMessage.sasToken",
		},
		{
			name: "service bus queue",
			put: scheduler.JobAction{Type: scheduler.ServiceBusQueue, ServiceBusQueueMessage: &scheduler.ServiceBusQueueMessage{
				QueueName: new("bells"), Namespace: new("belfry"), TransportType: scheduler.ServiceBusTransportTypeAMQP,
				Authentication: &scheduler.ServiceBusAuthentication{Type: scheduler.SharedAccessKey, SasKeyName: new("send"), SasKey: new(secret)},
				Message:        new("ring"), BrokeredMessageProperties: brokered("PT1H30M"),
				CustomMessageProperties: map[string]*string{"tone": new("c"), "Tone": new("C")},
			}},
			want: scheduler.JobAction{Type: scheduler.ServiceBusQueue, ServiceBusQueueMessage: &scheduler.ServiceBusQueueMessage{
				QueueName: new("bells"), Namespace: new("belfry"), TransportType: "amqp",
				Authentication: &scheduler.ServiceBusAuthentication{Type: "sharedAccessKey", SasKeyName: new("send")},
				Message:        new("ring"), BrokeredMessageProperties: brokered("01:30:00"),
				CustomMessageProperties: map[string]*string{"tone": new("c"), "Tone": new("C")},
			}},
			secret: "serviceBusQueueMessage.authentication.sasKey",
		},
		{
			name: "service bus topic",
			put: scheduler.JobAction{Type: scheduler.ServiceBusTopic, ServiceBusTopicMessage: &scheduler.ServiceBusTopicMessage{
				TopicPath: new("bells/large"), Namespace: new("belfry"), TransportType: scheduler.ServiceBusTransportTypeNetMessaging,
				Authentication: &scheduler.ServiceBusAuthentication{Type: scheduler.SharedAccessKey, SasKeyName: new("send"), SasKey: new(secret)},
				Message:        new("ring"), BrokeredMessageProperties: brokered("1.00:00:00"),
			}},
			want: scheduler.JobAction{Type: scheduler.ServiceBusTopic, ServiceBusTopicMessage: &scheduler.ServiceBusTopicMessage{
				TopicPath: new("bells/large"), Namespace: new("belfry"), TransportType: "netMessaging",
				Authentication: &scheduler.ServiceBusAuthentication{Type: "sharedAccessKey", SasKeyName: new("send")},
				Message:        new("ring"), BrokeredMessageProperties: brokered("1.00:00:00"),
			}},
			secret: "serviceBusTopicMessage.authentication.sasKey",
		},
	}
}

// request is a request that is answered just as it was put, but for its
// authentication.
func request(a scheduler.BasicHTTPAuthentication) *scheduler.HTTPRequest {
	return &scheduler.HTTPRequest{
		Authentication: a,
		URI:            new("https://bells.example/Ring%20It?how=<loud>&n=1"), Method: new("pOsT"), Body: new("ding\n<dong> é"),
		Headers: map[string]*string{"content-type": new("text/plain"), "X-Tower": new("north")},
	}
}

func brokered(timeToLive string) *scheduler.ServiceBusBrokeredMessageProperties {
	return &scheduler.ServiceBusBrokeredMessageProperties{
		ContentType: new("text/plain"), CorrelationID: new("c"), ForcePersistence: new(true), Label: new("l"), MessageID: new("m"),
		PartitionKey: new("s"), ReplyTo: new("r"), ReplyToSessionID: new("rs"), SessionID: new("s"), To: new("t"), ViaPartitionKey: new("v"),
		ScheduledEnqueueTimeUtc: at(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)), TimeToLive: new(timeToLive),
	}
}

// newCertificate makes a PFX file, and says how it is answered and how it is put.
func newCertificate(t *testing.T) (want, put scheduler.ClientCertAuthentication) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	checked(t, key, err)
	ends := time.Now().AddDate(1, 0, 0).UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: ends.AddDate(-2, 0, 0), NotAfter: ends,
		Subject: pkix.Name{CommonName: "bells", OrganizationalUnit: []string{"Tower"}, Organization: []string{"Belfry"}, Country: []string{"BE"}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	checked(t, der, err)
	leaf, err := x509.ParseCertificate(der)
	checked(t, leaf, err)
	pfx, err := pkcs12.Modern.Encode(key, leaf, nil, secret)
	checked(t, pfx, err)
	want = scheduler.ClientCertAuthentication{
		Type: scheduler.TypeClientCertificate, CertificateThumbprint: new(fmt.Sprintf("%X", sha1.Sum(der))),
		CertificateExpirationDate: at(ends), CertificateSubjectName: new("CN=bells, OU=Tower, O=Belfry, C=BE"),
	}
	put = scheduler.ClientCertAuthentication{Pfx: new(base64.StdEncoding.EncodeToString(pfx)), Password: new(secret)}
	return want, put
}

// asErrorAction is the same action in an error action's place.
func asErrorAction(a scheduler.JobAction) *scheduler.JobErrorAction {
	return &scheduler.JobErrorAction{
		Type: a.Type, Request: a.Request, QueueMessage: a.QueueMessage, RetryPolicy: a.RetryPolicy,
		ServiceBusQueueMessage: a.ServiceBusQueueMessage, ServiceBusTopicMessage: a.ServiceBusTopicMessage,
	}
}
