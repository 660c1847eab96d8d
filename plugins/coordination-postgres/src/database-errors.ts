import { coordinationErrors } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import pg from 'pg'

/** Effect of a failed call: `none`: nothing was changed; `unknown`: it may have been committed. */
export type Effect = 'none' | 'unknown'

/** A failed call, and what to do with its connection. */
export interface Failure {
  /** `CRD_*`, with the effect in its data. */
  readonly error: Error
  /** True if the connection must not be used again. */
  readonly broken: boolean
  /** True if the call had no effect, and may succeed when it is repeated immediately. */
  readonly repeat: boolean
}

const DEADLOCK = '40P01'
const SERIALIZATION = '40001'
/** Two calls changed one thing at the same time, which their repetition will see. */
const UNIQUE = '23505'
const LOCK_TIMEOUT = '55P03'
const CANCELED = '57014'
/** Raised by the functions of the schema. */
const INVALID_VALUE = '22023'
const READ_ONLY = '25006'
/** Conditions of a schema that another program dropped. */
const MISSING = ['42883', '42P01', '3F000']

/** Maps an error of a call. The message never contains a parameter of the statement. */
export function toFailure(error: unknown, location: string): Failure {
  if (!(error instanceof pg.DatabaseError)) return lost(errorMessage(error), location, error)
  const { code = '' } = error
  const none = { effect: 'none' satisfies Effect, sqlstate: code }
  const failed = (message: string, hint: string): Error =>
    coordinationErrors.create('CRD_FAILED', `${location}: ${message}`, { hint, data: none, cause: safeCause(error) })
  const busy = (message: string, hint: string): Error =>
    coordinationErrors.create('CRD_UNAVAILABLE', `${location}: ${message}`, {
      hint,
      data: none,
      cause: safeCause(error)
    })
  if (code === DEADLOCK || code === SERIALIZATION || code === UNIQUE) {
    const problem = busy('calls disturbed each other; nothing was changed', 'repeat the call')
    return { error: problem, broken: false, repeat: true }
  }
  if (code === LOCK_TIMEOUT || code === CANCELED) {
    const problem = code === CANCELED ? 'a statement exceeded its time limit of 5 s' : 'a lock was not free within 1 s'
    return { error: busy(`${problem}; nothing was changed`, 'repeat the call later'), broken: false, repeat: false }
  }
  if (code === READ_ONLY || isRecovery(error)) {
    const problem = busy('the server accepts no writes', 'connect to the primary server of the cluster')
    return { error: problem, broken: true, repeat: true }
  }
  if (MISSING.includes(code)) {
    const problem = failed(
      'the schema svc_coord is incomplete',
      'repeat the call: a new connection installs the schema'
    )
    return { error: problem, broken: true, repeat: true }
  }
  if (error.constraint === 'meta_epoch') {
    const problem = coordinationErrors.create(
      'CRD_VALUE_INVALID',
      'meta.swap: the text epoch must be a number of 1 to 4 digits, because it is part of every fence',
      { hint: 'use another name', data: none }
    )
    return { error: problem, broken: false, repeat: false }
  }
  if (code === INVALID_VALUE) {
    const problem = coordinationErrors.create('CRD_VALUE_INVALID', error.message, { data: none })
    return { error: problem, broken: false, repeat: false }
  }
  // Insufficient resources, for example a full disk.
  if (code.startsWith('53'))
    return {
      error: busy(`${error.message}; nothing was changed`, 'free resources of the server'),
      broken: true,
      repeat: false
    }
  if (code.startsWith('57') || code.startsWith('58') || code.startsWith('08'))
    return lost(error.message, location, safeCause(error))
  return {
    error: failed(`a statement failed: ${error.message}`, 'look at the log of the server'),
    broken: false,
    repeat: false
  }
}

/** True if nothing of a call, or of a batch of calls, took effect. */
export function hadNoEffect(error: unknown): boolean {
  return isSvcError(error) && (error.data as { effect?: unknown } | undefined)?.effect === 'none'
}

/** The connection was lost during a call, or the server did not respond: whether it committed is unknown. */
export function lost(problem: string, location: string, cause?: unknown): Failure {
  const error = coordinationErrors.create(
    'CRD_UNAVAILABLE',
    `${location} did not respond (${problem}); the call may have taken effect`,
    {
      hint: 'repeat the call: with a key or a token, that is safe',
      data: { effect: 'unknown' satisfies Effect },
      cause
    }
  )
  return { error, broken: true, repeat: false }
}

/** An error of connecting: no statement was sent. `final`: a further attempt cannot succeed either. */
export interface ConnectFailure {
  readonly error: Error
  readonly final: boolean
}

export function toConnectFailure(error: unknown, location: string): ConnectFailure {
  if (isSvcError(error)) return { error, final: error.code !== 'CRD_UNAVAILABLE' }
  const code =
    error instanceof pg.DatabaseError ? (error.code ?? '') : String((error as { code?: unknown })?.code ?? '')
  const problem = connectProblem(code, error)
  return {
    error: coordinationErrors.create('CRD_UNAVAILABLE', `${location}: ${problem.message}; nothing was changed`, {
      hint: problem.hint,
      data: { effect: 'none' satisfies Effect },
      cause: safeCause(error)
    }),
    final: problem.final
  }
}

function connectProblem(code: string, error: unknown): { message: string; hint: string; final: boolean } {
  const message = errorMessage(error)
  if (code === '28P01' || code === '28000' || message.includes('password must be a string'))
    return {
      message: `the server refused the login: ${message}`,
      hint: 'check user and password in [coordination], and pg_hba.conf of the server',
      final: true
    }
  if (code === '3D000')
    return { message, hint: 'create the database, or correct its name in coordination.url', final: true }
  if (code === '42501')
    return {
      message: `the schema svc_coord cannot be installed: ${message}`,
      hint: 'grant CREATE on the database to the user',
      final: true
    }
  if (code.startsWith('CERT_') || code.startsWith('ERR_TLS') || /CERT|ISSUER|SSL/.test(`${code} ${message}`))
    return {
      message: `no encrypted connection: ${message}`,
      hint: 'set ca_file in [coordination], or sslmode in its URL',
      final: true
    }
  return { message: `no connection: ${message}`, hint: 'check that the server runs and can be reached', final: false }
}

function isRecovery(error: pg.DatabaseError): boolean {
  return error.code === '55000' && error.message.includes('recovery is in progress')
}

/** Returns the error without the values of a row or statement, which may be private. */
function safeCause(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { message, code } = error
  return Object.assign(new Error(message), { code })
}
