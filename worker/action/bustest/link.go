package bustest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// cbs is where tokens are put (OASIS: AMQP Claims-based Security).
	cbs = "$cbs"

	credit = 1000 // messages that a client may send ahead

	stateAccepted = 0x24
	stateRejected = 0x25
)

// link is one of a client's session.
type link struct {
	address  string
	grant    grant
	handle   uint32
	receives bool   // the client receives
	count    uint32 // deliveries of a sender
	credit   uint32

	// The delivery that comes in.
	id      uint32
	settled bool
	partial []byte
}

// attach answers a link that the client wants.
func (c *conn) attach(s *session, fields []any) error {
	name, _ := field[string](fields, 0)
	l := &link{}
	l.handle, _ = field[uint32](fields, 1)
	l.receives, _ = field[bool](fields, 2)
	terminus := 6 // target
	if l.receives {
		terminus = 5
	}
	d, _ := field[described](fields, terminus)
	list, _ := d.value.([]any)
	l.address, _ = field[string](list, 0)

	answer := make([]any, 11)
	copy(answer, fields[:min(7, len(fields))]) // the name, and the modes that the client asks for
	answer[0], answer[2], answer[10] = name, !l.receives, c.server.cfg.MaxMessage
	if l.receives {
		answer[9] = uint32(0)
	}
	if condition := c.refusal(l); condition != "" {
		answer[5], answer[6] = nil, nil
		if err := c.say(s.channel, performAttach, answer...); err != nil {
			return err
		}
		return c.say(s.channel, performDetach, l.handle, true, fault(condition, l.grant))
	}
	s.links[l.handle] = l
	if err := c.say(s.channel, performAttach, answer...); err != nil || l.receives {
		return err
	}
	if !strings.Contains(l.address, "$") {
		c.server.mu.Lock()
		c.server.links++
		c.server.mu.Unlock()
	}
	return c.flow(s, l)
}

// refusal returns why a link must not be, or "".
func (c *conn) refusal(l *link) (condition string) {
	if l.address == cbs {
		return ""
	}
	var ok bool
	if l.grant, ok = c.granted[l.address]; !ok {
		return "amqp:unauthorized-access"
	}
	return c.server.behavior(strings.TrimSuffix(l.address, "/$management")).Attach
}

// fault is an error as AMQP writes it. Its description holds the client's own
// token: who shows descriptions is found out.
func fault(condition string, g grant) described {
	return described{errorList, []any{symbol(condition), "The client said: " + g.token}}
}

func (c *conn) flow(s *session, l *link) error {
	l.credit = credit
	return c.say(s.channel, performFlow, s.nextIn, uint32(window), s.nextOut, uint32(window), l.handle, l.count, l.credit)
}

// transfer takes a part of a message, and deals with the message if it was the
// last.
func (c *conn) transfer(s *session, f frame) error {
	handle, _ := field[uint32](f.fields, 0)
	s.nextIn++
	l := s.links[handle]
	if l == nil { // detached by us before
		return nil
	}
	if id, ok := field[uint32](f.fields, 1); ok {
		l.id = id
	}
	if settled, ok := field[bool](f.fields, 4); ok {
		l.settled = settled
	}
	l.partial = append(l.partial, f.payload...)
	if more, _ := field[bool](f.fields, 5); more {
		return nil
	}
	m, value, err := parse(l.partial)
	if err != nil {
		return err
	}
	l.partial = nil
	l.count++
	l.credit--
	if l.credit < credit/2 {
		if err := c.flow(s, l); err != nil {
			return err
		}
	}
	if l.address == cbs {
		if err := c.settle(s, l, described{stateAccepted, []any{}}); err != nil {
			return err
		}
		return c.put(s, m, value)
	}
	m.Entity, m.Host, m.Agent, m.Audience = l.address, c.host, c.agent, l.grant.audience
	switch b := c.server.behavior(l.address); {
	case b.Reject != "":
		return c.settle(s, l, described{stateRejected, []any{fault(b.Reject, l.grant)}})
	case b.Hang:
		return nil
	case b.Break:
		return errBreak
	case b.Lose:
		c.server.keep(m)
		delete(s.links, l.handle)
		return c.say(s.channel, performDetach, l.handle, true, fault("amqp:link:detach-forced", l.grant))
	}
	c.server.keep(m)
	return c.settle(s, l, described{stateAccepted, []any{}})
}

// settle answers the delivery that has just come in.
func (c *conn) settle(s *session, l *link, state described) error {
	if l.settled {
		l.settled = false
		return nil
	}
	return c.say(s.channel, performDisposition, true, l.id, l.id, true, state)
}

// put answers a request to accept a token.
func (c *conn) put(s *session, m Message, value any) error {
	audience, _ := m.Properties["name"].(string)
	token, _ := value.(string)
	code, description := int32(202), "Accepted"
	path, err := authorize(c.server.cfg.Keys, audience, token, time.Now())
	if err == nil && m.Properties["type"] != "servicebus.windows.net:sastoken" {
		err = errors.New("a token of this type is not accepted")
	}
	b := c.server.behavior(strings.TrimSuffix(path, "/$management"))
	switch {
	case b.Mute:
		return nil
	case b.Token != 0:
		code, description = b.Token, token
	case err != nil:
		code, description = 401, fmt.Sprintf("%v: %s", err, token)
	default:
		c.granted[path] = grant{audience, token}
	}
	for _, l := range s.links {
		if !l.receives || l.address != cbs {
			continue
		}
		answer := encode(nil, described{sectionProperties, []any{nil, nil, m.ReplyTo, nil, nil, m.MessageID}})
		answer = encode(answer, described{sectionApplication, map[string]any{"status-code": code, "status-description": description}})
		answer = encode(answer, described{sectionValue, nil})
		id := s.nextOut
		s.nextOut++
		return c.write(frameAMQP, s.channel, performTransfer, []any{l.handle, id, []byte{byte(id)}, uint32(0), true, false}, answer)
	}
	return errors.New("nowhere to answer to")
}

// detach detaches the links to an entity.
func (c *conn) detach(entity, condition string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		for handle, l := range s.links {
			if l.address != entity {
				continue
			}
			delete(s.links, handle)
			c.say(s.channel, performDetach, handle, true, fault(condition, l.grant))
		}
	}
}
