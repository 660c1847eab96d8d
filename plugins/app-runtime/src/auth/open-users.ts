import type { DatabaseStore, HttpHandlerRoute, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import { SYSTEM_TEXT } from '../interpreter/request.ts'
import type { Endpoint } from '../serving/endpoints.ts'
import { keepLookupConnection } from '../serving/lookup-connection.ts'
import type { ProgramPool } from '../serving/program-pool.ts'
import type { Settings } from '../settings.ts'
import { RateLimits } from './rate-limits.ts'
import { SessionVerifier } from './sessions/session-verifier.ts'
import { Sessions } from './sessions/sessions.ts'
import { authRoutes } from './users/auth-routes.ts'
import { Passwords } from './users/passwords.ts'

export interface UsersParts {
  readonly program: Program
  readonly store: DatabaseStore
  readonly access: DatabaseAccess | null
  readonly pool: Pick<ProgramPool, 'ask'>
  readonly endpoints: readonly Endpoint[]
}

export interface OpenUsers {
  readonly sessions: Sessions
  readonly verifier: SessionVerifier
  readonly routes: readonly HttpHandlerRoute[]
}

/** Opens the users of a program; null if it has none. */
export async function openUsers(
  ctx: Pick<PluginContext<Settings>, 'keep'>,
  { program, store, access, pool, endpoints }: UsersParts
): Promise<OpenUsers | null> {
  const { users } = program
  if (users === null) return null
  const connection = access === null ? null : await keepLookupConnection(ctx, access)
  const sessions = new Sessions({ store, connection, users })
  await sessions.prepare()
  const index = endpoints.findIndex(({ kind }) => kind === 'users')
  const routes = authRoutes({
    users,
    store,
    sessions,
    passwords: new Passwords(),
    limits: new RateLimits(),
    perform: work => pool.ask(index, JSON.stringify(work), SYSTEM_TEXT)
  })
  return { sessions, verifier: new SessionVerifier(sessions), routes }
}
