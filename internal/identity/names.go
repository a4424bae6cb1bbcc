package identity

import "strconv"

// EventID is the id of one thing that happened at a source.
//
// source is the source's name in configuration; account the sender's account the event belongs to; topic what
// kind of event it is; rung which step of the identity ladder gave the value ("event_id", "delivery_id",
// "body_digest"); value the sender's own id of it, or the digest. A topic is part of it, because senders reuse
// one event id for several topics.
func (k Key) EventID(source, account, topic, rung, value string) (string, error) {
	return k.ID(KindEvent, Text("source", source), Text("account", account), Text("topic", topic), Text("rung", rung), Text("event id", value))
}

// HeldID is the id of a notification whose event cannot be told, so that it can be recorded and held. bodyDigest
// is the digest of the exact bytes received: the same bytes again are the same held notification.
func (k Key) HeldID(source, bodyDigest string) (string, error) {
	return k.ID(KindHeld, Text("source", source), Text("body digest", bodyDigest))
}

// RepeatID is the id of a later notification that carries nothing to tell it from the event eventID: ordinal 2
// is the second one seen. Within the source's retry horizon it is held as a possible repeat; after it, it is an
// event of its own.
func (k Key) RepeatID(eventID string, ordinal int) (string, error) {
	return k.ID(KindRepeat, Text("event", eventID), Number("ordinal", strconv.Itoa(ordinal)))
}

// DeliveryID is the id of one notification by the sender's own name for it.
func (k Key) DeliveryID(source, account, delivery string) (string, error) {
	return k.ID(KindDelivery, Text("source", source), Text("account", account), Text("delivery id", delivery))
}

// LikenessID is the id of a mark that two notifications of one source, account and topic share when one may be a
// repeat of the other under another name. likeness is the source package's description of what is alike.
func (k Key) LikenessID(source, account, topic, likeness string) (string, error) {
	return k.ID(KindLikeness, Text("source", source), Text("account", account), Text("topic", topic), Text("likeness", likeness))
}

// RunID is the id of one flow started for one event. flow is the flow's permanent name, without a version: an
// event that comes again after a deploy must meet the run it already has.
func (k Key) RunID(flow, eventID string) (string, error) {
	return k.ID(KindRun, Text("flow", flow), Text("event", eventID))
}

// OperationID is the id of one intended effect. flow and stage are permanent names; source and account say whose
// business key it is, so that customer 7 of one shop is not customer 7 of another; key is the stage's business
// key in its declared order, at least one part. A key part that is missing, blank or ambiguous is an error, and
// the run is held: two customers without an id must not share an operation.
func (k Key) OperationID(flow, stage, source, account string, key ...Part) (string, error) {
	if len(key) == 0 {
		key = []Part{Missing("the business key")}
	}
	parts := []Part{Text("flow", flow), Text("stage", stage), Text("source", source), Text("account", account)}
	return k.ID(KindOperation, append(parts, key...)...)
}
