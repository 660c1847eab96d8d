import type { DatabaseStore, HttpHandlerRoute, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import { SYSTEM_TEXT } from '../interpreter/request.ts'
import type { Endpoint } from '../serving/endpoints.ts'
import { keepLookupConnection } from '../serving/lookup-connection.ts'
import type { ProgramPool } from '../serving/program-pool.ts'
import { authSettings, type Settings } from '../settings.ts'
import type { EndedIdentities } from './ended-identities.ts'
import { oauthRoutes } from './oauth/oauth-routes.ts'
import { OpenIdProvider } from './oauth/openid-provider.ts'
import { RateLimits } from './rate-limits.ts'
import { openAuthSecrets } from './secret.ts'
import { SessionVerifier } from './sessions/session-verifier.ts'
import { Sessions } from './sessions/sessions.ts'
import { clientAddresses } from './trusted-proxies.ts'
import { passwordRoutes } from './users/password-routes.ts'
import { Passwords } from './users/passwords.ts'
import { RequestSessions } from './users/request-sessions.ts'
import { type PerformUsers, sessionRoutes } from './users/session-routes.ts'

export interface UsersParts {
  readonly program: Program
  readonly store: DatabaseStore
  readonly access: DatabaseAccess | null
  readonly pool: Pick<ProgramPool, 'ask'>
  readonly endpoints: readonly Endpoint[]
  readonly ended: EndedIdentities
}

export interface OpenUsers {
  readonly sessions: Sessions
  readonly verifier: SessionVerifier
  readonly routes: readonly HttpHandlerRoute[]
}

/** Opens the users of a program; null if it has neither a table of users nor OpenID providers. */
export async function openUsers(
  ctx: Pick<PluginContext<Settings>, 'keep' | 'config' | 'projectRoot'>,
  { program, store, access, pool, endpoints, ended }: UsersParts
): Promise<OpenUsers | null> {
  const { users } = program
  const auth = authSettings(ctx.config)
  const providers = new Map(Object.entries(auth.oauth).map(([name, each]) => [name, new OpenIdProvider(name, each)]))
  if (users === null && providers.size === 0) return null
  const connection = access === null ? null : await keepLookupConnection(ctx, access)
  const sessions = new Sessions({ store, connection, users, ended })
  await sessions.prepare()
  const index = endpoints.findIndex(({ kind }) => kind === 'users')
  const limits = new RateLimits()
  const perform: PerformUsers = work => pool.ask(index, JSON.stringify(work), SYSTEM_TEXT)
  const secrets = providers.size === 0 ? null : await openAuthSecrets(auth.secret, ctx.projectRoot, store)
  const { url = null } = auth
  const requests = new RequestSessions(sessions)
  const parts = { sessions, requests, perform, store, limits, addresses: clientAddresses(auth) }
  const passwords =
    users === null || !users.hasPassword ? [] : passwordRoutes({ ...parts, users, passwords: new Passwords() })
  const routes = [
    ...passwords,
    ...sessionRoutes({ ...parts, users }),
    ...(secrets === null ? [] : oauthRoutes({ ...parts, providers, url, users, secrets }))
  ]
  return { sessions, verifier: new SessionVerifier(sessions), routes }
}
