package problem

// Codes are those of all problems of the Go daemons, and when each is answered. A test finds others, and prints
// docs/api/daemon-errors.md from them. Those that the management API has too mean the same there.
var Codes = map[string]string{
	// The request.
	"body_too_large":         "The body is larger than the daemon takes.",
	"invalid":                "Retention that cannot be kept: the body is not what is needed, or the durations contradict each other.",
	"invalid_request":        "A value in the body, the query or the path is missing or not allowed; `errors` names each.",
	"malformed_json":         "The body is empty where one is needed, cut off, or not JSON.",
	"unknown_field":          "The body has a field that is not known.",
	"unsupported_media_type": "The body is of a type that the route does not read.",

	// Who asks.
	"factor_addition_required": "Administrators need a second factor, and this one has none; one is added on the appliance's pages.",
	"forbidden":                "The process or the person who asks may not.",
	"locked_out":               "There were too many wrong passwords; `Retry-After` says for how long.",
	"out_of_origin":            "A browser sent the request from another site's page.",
	"second_factor_required":   "The password is right; a code of the authenticator app, or a recovery code, is needed too.",
	"too_many":                 "Too many of these are under way for this address; try again shortly.",
	"unauthenticated":          "Nobody has signed in, or the session is over.",
	"wrong_code":               "The code is wrong, or was used before.",
	"wrong_credentials":        "The name or the password is wrong.",

	// The machine.
	"command_failed":      "The operating system refused what it was asked; `detail` has its words.",
	"conflict":            "The request is valid, but the present state does not allow it.",
	"dataset_in_use":      "The dataset is busy: something has a file of it open, or depends on it.",
	"disk_in_use":         "The disk belongs to a pool, to the system, or to something else.",
	"disk_missing":        "The system does not find the disk that is named.",
	"disk_too_small":      "The disk is smaller than the smallest that can be used, or than the one it is to replace.",
	"not_found":           "What is named does not exist.",
	"out_of_space":        "The pool or a quota has no room for it.",
	"pool_exists":         "There is a pool of this name already.",
	"service_unavailable": "What the answer needs does not answer, or the daemon met an error it did not expect; ask again later.",
	"timeout":             "The deadline passed; what was asked for may have been done or not.",
	"wrong_key":           "The passphrase or the key of an encrypted dataset is wrong.",

	// The store and its inputs.
	"canceled":         "The client went before the query was answered.",
	"overloaded":       "The store takes no more at present; send the same batch again after `Retry-After`.",
	"samples_rejected": "Samples of the batch were refused, and would be again; `errors` names them.",

	// Statistics.
	"bad_statistic":     "What is asked to be measured is not written as the grammar wants it.",
	"not_available":     "The statistic exists, but cannot be measured on this machine; `detail` says why.",
	"too_many_datasets": "As much is measured on request as may be.",
	"unknown_breakdown": "The statistic has no such breakdown.",
	"unknown_filter":    "The statistic has no such filter.",
	"unknown_statistic": "There is no such statistic.",

	// Replication.
	"cancelled":          "It was cancelled; what has arrived is kept at the target.",
	"host_key_changed":   "The target has another host key than the one that was confirmed.",
	"interrupted":        "The connection was lost, or the target stopped taking data; the next run goes on from there.",
	"login_refused":      "The target does not let the user in with this appliance's key.",
	"no_common_snapshot": "Source and target have no snapshot in common, from which a further one could be sent.",
	"not_permitted":      "The user at the target lacks a ZFS permission.",
	"replication_failed": "Sending or receiving failed in a way that has no code of its own; `detail` has the tool's words.",
	"source_gone":        "The snapshot that was to be sent, or finished, no longer exists here.",
	"target_busy":        "The target still takes in an earlier stream, or is in use.",
	"target_diverged":    "The target has snapshots that the source does not have.",
	"target_modified":    "The target was written to since the last replication.",
	"unreachable":        "The target's machine cannot be reached.",
}
