// Every code that an error can have, declared once. Codes are stable: the UI and scripts compare them. docs/api/errors.md is
// printed from here.

export interface ProblemKind {
  /** The HTTP status. */
  readonly status: number;
  readonly title: string;
  /** When it is answered. */
  readonly meaning: string;
  /** What a client, or whoever uses it, can do. The answer itself says it for the case at hand. */
  readonly remedy: string;
}

export const problemKinds = {
  malformed_json: {
    status: 400,
    title: 'The request is not readable JSON',
    meaning: 'The body is empty where one is needed, cut off, or not JSON.',
    remedy: 'Send a complete JSON document with a right Content-Length.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    meaning: 'A value in the body, the query or the path is missing or not allowed; `errors` names each.',
    remedy: 'Correct the fields that `errors` names.',
  },
  unknown_field: {
    status: 400,
    title: 'The request has a field that is not known',
    meaning: 'A field, a query parameter or a body was sent that this route does not take.',
    remedy: 'Leave it out; check its spelling against the description of the API.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The request is not JSON',
    meaning: 'The body is declared as something other than JSON.',
    remedy: 'Send `Content-Type: application/json`.',
  },
  body_too_large: {
    status: 413,
    title: 'The request is too large',
    meaning: 'The body is larger than the API takes.',
    remedy: 'Send less at once.',
  },
  unauthenticated: {
    status: 401,
    title: 'Not signed in',
    meaning: 'The request carries no identity that is known: no session, an ended one, or a token that was withdrawn.',
    remedy: 'Sign in, or send a valid API token.',
  },
  wrong_credentials: {
    status: 401,
    title: 'Name or password is wrong',
    meaning: 'No user has this name with this password.',
    remedy: 'Check both and try again; an address has ten wrong guesses, and one more each minute.',
  },
  account_disabled: {
    status: 403,
    title: 'The account cannot be used',
    meaning:
      'The name and the password are right, but an administrator has disabled the account, or its one-time password was not used in time.',
    remedy: 'Ask an administrator.',
  },
  password_change_required: {
    status: 403,
    title: 'The password must be changed first',
    meaning: 'The user signed in with a one-time password; nothing is allowed before it is changed.',
    remedy: 'POST /api/session/change-password.',
  },
  second_factor_required: {
    status: 401,
    title: 'A code is needed, too',
    meaning: 'The password is right, and the user has a second factor; there is no session yet.',
    remedy:
      'Send it again with `code`: what the authenticator app shows, or a recovery code. Programs use an API token, which needs none.',
  },
  wrong_code: {
    status: 401,
    title: 'The code is wrong',
    meaning:
      'It is neither what the authenticator app shows now nor a recovery code that is left, or it was used before.',
    remedy: 'Give the next code of the app, or a recovery code; wrong ones count as wrong passwords do.',
  },
  passphrase_required: {
    status: 409,
    title: 'A passphrase is needed',
    meaning: 'The secrets of the settings document are sealed with a passphrase, and none was given.',
    remedy: 'Give the passphrase, or say that the secrets are left out.',
  },
  wrong_passphrase: {
    status: 409,
    title: 'The passphrase is wrong',
    meaning: 'The passphrase does not open the secrets of the settings document.',
    remedy: 'Give the one that the document was exported with.',
  },
  wrong_passkey: {
    status: 401,
    title: 'The passkey was not accepted',
    meaning:
      'The appliance does not know it, it belongs to another host name or another user, or what it signed is not right or too old.',
    remedy: 'Try again, or sign in by name and password.',
  },
  factor_addition_required: {
    status: 403,
    title: 'A second factor must be added first',
    meaning: 'Administrators need a second factor by now, and the user has none; nothing else is allowed before.',
    remedy: 'POST /api/factors/start, then /api/factors/ID/finish; or /api/passkeys/start, then /api/passkeys/finish.',
  },
  confirmation_required: {
    status: 403,
    title: 'Give your password again',
    meaning:
      'What was asked for destroys data, changes who gets in, or reads a secret, and the password was given more than five minutes ago.',
    remedy:
      'POST the password, or a code of the authenticator app, to /api/session/confirm, then repeat the request. A token needs no confirmation.',
  },
  last_administrator: {
    status: 409,
    title: 'Somebody must be able to sign in',
    meaning: 'The user is the only administrator who can sign in.',
    remedy: 'Add another administrator first.',
  },
  wrong_setup_code: {
    status: 401,
    title: 'The set-up code is wrong',
    meaning: 'The code is not the one that the console shows.',
    remedy: 'Read it off the console again.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed',
    meaning: 'The role of who asks is too low for the route.',
    remedy: 'Ask an administrator.',
  },
  out_of_origin: {
    status: 403,
    title: 'The request comes from another site',
    meaning: 'A browser sent a change with its cookie, but not from a page of this appliance.',
    remedy: 'Use the pages of the appliance, or an API token.',
  },
  not_found: {
    status: 404,
    title: 'There is no such thing',
    meaning: 'The address, or what it names, does not exist.',
    remedy: 'List what there is, and use a name or an id from the list.',
  },
  conflict: {
    status: 409,
    title: 'That is not possible now',
    meaning: 'The request is valid, but the present state does not allow it.',
    remedy: 'Look at the present state; `detail` says what is in the way.',
  },
  passkeys_end: {
    status: 409,
    title: 'Passkeys would stop working',
    meaning:
      'The appliance is to get another host name, and passkeys belong to the one that it has; `detail` names them.',
    remedy: 'Send it again with `endPasskeys`: true when they may end.',
  },
  audit_damaged: {
    status: 409,
    title: 'The audit log does not verify',
    meaning:
      'The hash chain of the audit log does not hold, or it does not fit a hash that was written down; `detail` says where.',
    remedy: 'Export the log, make a support bundle, and find out who could write to the state of the appliance.',
  },
  plan_changed: {
    status: 409,
    title: 'The plan is another one by now',
    meaning: 'What applying would do is not what the plan of the given fingerprint said; nothing was applied.',
    remedy: 'Look at the plan again, and apply with its fingerprint.',
  },
  settings_not_applied: {
    status: 409,
    title: 'The settings were not applied',
    meaning: 'A part of the settings could not be applied, and those before it were put back.',
    remedy: '`detail` says which part and why, and `errors` the fields.',
  },
  edit_conflict: {
    status: 412,
    title: 'Somebody else has changed it',
    meaning: 'The If-Match of a change or a removal names a version that is not the present one; nothing was written.',
    remedy: 'Load it again, compare, and send the change with its new ETag.',
  },
  pool_exists: {
    status: 409,
    title: 'A pool of that name exists',
    meaning: 'A pool was to be made or imported under a name that is taken.',
    remedy: 'Choose another name.',
  },
  disk_in_use: {
    status: 409,
    title: 'The disk is in use',
    meaning: 'The disk belongs to a pool, to the system, or to something else.',
    remedy: 'Choose another disk, or erase what is on it first.',
  },
  disk_too_small: {
    status: 409,
    title: 'The disk is too small',
    meaning: 'The disk is smaller than the smallest that can be used, or than the one it is to replace.',
    remedy: 'Choose a larger disk.',
  },
  disk_missing: {
    status: 409,
    title: 'The disk is not there',
    meaning: 'The system does not find the disk that is named.',
    remedy: 'Check its cable and its slot, and list the disks again.',
  },
  dataset_in_use: {
    status: 409,
    title: 'The dataset is in use',
    meaning: 'A program has files of the dataset open, or something depends on it.',
    remedy: 'End what uses it, and try again.',
  },
  out_of_space: {
    status: 409,
    title: 'There is not enough space',
    meaning: 'The pool or a quota has no room for it.',
    remedy: 'Destroy what is not needed, raise the quota, or add disks.',
  },
  wrong_key: {
    status: 409,
    title: 'The key is wrong',
    meaning: 'The key or passphrase does not open the encrypted dataset.',
    remedy: 'Give the right key.',
  },
  setup_incomplete: {
    status: 409,
    title: 'Set-up is not finished',
    meaning: 'This can be done only when set-up is finished.',
    remedy: 'Finish set-up.',
  },
  setup_done: {
    status: 409,
    title: 'Set-up is done',
    meaning: 'A step of set-up was asked for that is over.',
    remedy: 'Sign in.',
  },
  uri_too_long: {
    status: 414,
    title: 'The address is too long',
    meaning: 'The address of a request, or its headers, are longer than the web server takes.',
    remedy: 'Send a long query in the body of a POST.',
  },
  locked_out: {
    status: 429,
    title: 'Too many failed attempts',
    meaning: 'Too many wrong passwords or codes came from this address.',
    remedy: 'Wait for as long as `action` says.',
  },
  too_many: {
    status: 429,
    title: 'Too many at once',
    meaning: 'As many requests of this kind are under way as are served at the same time.',
    remedy: 'Try again shortly.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong in the appliance',
    meaning: 'An error of the appliance itself; what it was is in its log only.',
    remedy: 'Try again. If it happens again, make a support bundle.',
  },
  command_failed: {
    status: 502,
    title: 'A command failed',
    meaning: 'The operating system, or a receiver of alerts, refused what it was asked; `detail` has its words.',
    remedy: 'Correct what `detail` names.',
  },
  service_unavailable: {
    status: 503,
    title: 'A part of the appliance does not answer',
    meaning: 'Another daemon of the appliance is not running, or its answer cannot be read.',
    remedy: 'Look at the services, and try again when it runs.',
  },
  timeout: {
    status: 504,
    title: 'It took too long',
    meaning: 'The deadline passed; what was asked for may have been done or not.',
    remedy: 'Look at the present state before you try again.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problemKinds;
