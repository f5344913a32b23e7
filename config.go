package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
)

// logFlags are the settings of the log, which goes to standard error.
type logFlags struct {
	LogLevel  slog.Level `help:"Least level to log: debug, info, warn or error." default:"info"`
	LogFormat string     `help:"Form of the log: text for people or json for programs." enum:"text,json" default:"text"`
}

func (f *logFlags) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// natsFlags say where NATS is.
type natsFlags struct {
	NATS string `name:"nats" help:"URLs of NATS with JetStream, separated by commas." default:"nats://127.0.0.1:4222"`
}

// redisFlags say where Redis is.
type redisFlags struct {
	Redis string `help:"URL of Redis: redis:// or rediss://; redis+cluster://HOST:PORT?addr=HOST:PORT for a cluster; redis+sentinel://HOST:PORT?master_name=NAME for Sentinel." default:"redis://127.0.0.1:6379/0"`
}

// clusterFlags are what all parts of a cluster must agree on.
type clusterFlags struct {
	Shards   int `help:"Number of shards. Fixed once a cluster was started." default:"16"`
	Replicas int `help:"Copies that NATS keeps of each stream: 1, 3 or 5." default:"1"`
}

// Validate is called by the flag library.
func (f *clusterFlags) Validate() error {
	if f.Shards < 1 || f.Shards > 1024 {
		return errors.New("--shards must be 1 to 1024")
	}
	if f.Replicas < 1 || f.Replicas > 5 {
		return errors.New("--replicas must be 1 to 5")
	}
	return nil
}

// startTimeout is how long a server may take to answer when a role starts.
const startTimeout = 5 * time.Second

// connectNATS connects to NATS, now or not at all. Once connected, a connection
// that is lost is made anew for as long as it takes.
func connectNATS(role, urls string, log *slog.Logger) (*nats.Conn, error) {
	nc, err := nats.Connect(urls,
		nats.Name("carillon "+role),
		nats.Timeout(startTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent now is for the sender to know
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("connection to nats lost", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to nats again", "url", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Debug("nats", "err", err) }),
	)
	if err != nil {
		return nil, fmt.Errorf("cannot reach NATS at %s: %w. Start nats-server with JetStream (nats-server -js), or name another with --nats or CARILLON_NATS", redacted(urls), err)
	}
	return nc, nil
}

// connectRedis makes a client of Redis and checks that it answers now. The
// client makes connections anew by itself.
func connectRedis(ctx context.Context, address string) (redis.UniversalClient, error) {
	rdb, err := newRedis(address)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--redis: %v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		_ = rdb.Close() // it never worked
		return nil, fmt.Errorf("cannot reach Redis at %s: %w. Start redis-server, or name another with --redis or CARILLON_REDIS", redacted(address), err)
	}
	return rdb, nil
}

// silence keeps the Redis client from writing to standard error: what goes wrong
// comes back as an error, and is logged by whoever asked.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func newRedis(address string) (redis.UniversalClient, error) {
	redis.SetLogger(silence{})
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil, fmt.Errorf("%q is not a URL such as redis://127.0.0.1:6379/0", redacted(address))
	}
	scheme, kind, _ := strings.Cut(scheme, "+")
	plain := scheme + "://" + rest
	switch kind {
	case "":
		o, err := redis.ParseURL(plain)
		if err != nil {
			return nil, unquoted(err)
		}
		o.ContextTimeoutEnabled = true
		return redis.NewClient(o), nil
	case "cluster":
		o, err := redis.ParseClusterURL(plain)
		if err != nil {
			return nil, unquoted(err)
		}
		o.ContextTimeoutEnabled = true
		return redis.NewClusterClient(o), nil
	case "sentinel":
		o, err := redis.ParseFailoverURL(plain)
		if err != nil {
			return nil, unquoted(err)
		}
		if o.MasterName == "" {
			return nil, errors.New("redis+sentinel:// needs ?master_name=NAME")
		}
		o.ContextTimeoutEnabled = true
		return redis.NewFailoverClient(o), nil
	}
	return nil, fmt.Errorf("scheme %s+%s:// is none of redis, rediss, redis+cluster, redis+sentinel", scheme, kind)
}

// unquoted drops the URL, with its password, from a parser's error.
func unquoted(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// redacted returns URLs without their passwords.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, s := range list {
		if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
			list[i] = u.Redacted()
		} else {
			list[i] = "(an unreadable URL)"
		}
	}
	return strings.Join(list, ",")
}

// loopback checks that an address to listen on is reached from this machine
// only: there is no authentication yet.
func loopback(flag, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return &usageError{fmt.Sprintf("%s: %q is not HOST:PORT", flag, address)}
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return &usageError{fmt.Sprintf("%s: %s is not a loopback address; listening elsewhere is refused until there is authentication", flag, address)}
}
