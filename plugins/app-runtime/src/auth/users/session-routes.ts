import type { HttpHandlerRoute, ProgramUsers } from '@svc/contracts'
import { JSON_TYPE, sendAnswer } from '../../serving/send-answer.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { authRoute, type Run, wrongArgument } from './auth-body.ts'
import type { RequestSessions } from './request-sessions.ts'
import type { UsersWork } from './users-runner.ts'

/** Does work on users in a thread of the program. */
export type PerformUsers = (work: UsersWork) => Promise<{ readonly status: number; readonly body: string }>

export interface SessionRoutesParts {
  /** null: users sign in with OpenID Connect only, and have no rows. */
  readonly users: ProgramUsers | null
  readonly sessions: Sessions
  readonly requests: RequestSessions
  readonly perform: PerformUsers
}

/** Returns the routes with which users see who they are, and see and end their sessions. */
export function sessionRoutes({ users, sessions, requests, perform }: SessionRoutesParts): HttpHandlerRoute[] {
  const signOut: Run = async exchange => {
    await requests.end(exchange)
    exchange.send(200, JSON_TYPE, 'null')
  }

  const me: Run = async exchange => {
    const session = await requests.of(exchange)
    if (session === null) exchange.send(200, JSON_TYPE, 'null')
    else if (users === null) exchange.send(200, JSON_TYPE, JSON.stringify({ ...session.claims, id: session.subject }))
    else {
      const { status, body } = await perform({ op: 'row', id: session.subject })
      sendAnswer(exchange, status, body)
    }
  }

  const list: Run = async exchange => {
    const session = await requests.required(exchange)
    const all = await sessions.list(session.subject)
    const shown = all.map(({ id, agent, createdAtMs, expiresAtMs }) => ({
      id,
      agent,
      created_at_ms: createdAtMs,
      expires_at_ms: expiresAtMs,
      is_current: id === session.id
    }))
    exchange.send(200, JSON_TYPE, JSON.stringify(shown))
  }

  const endSession: Run = async (exchange, { id }) => {
    const session = await requests.required(exchange)
    if (typeof id !== 'string') throw wrongArgument('id', 'the id of a session')
    exchange.send(200, JSON_TYPE, JSON.stringify(await sessions.end(session.subject, id)))
  }

  return [
    authRoute('POST', 'sign_out', 'Ends the session', signOut),
    authRoute('GET', 'me', 'The user who is signed in, or null', me),
    authRoute('GET', 'sessions', 'The sessions of the user', list),
    authRoute('POST', 'end_session', 'Ends a session of the user', endSession)
  ]
}
