import type { DatabaseStore, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { type AuthSettings, authSettings, type Settings } from '../settings.ts'
import { ApiKeys, ApiKeyVerifier } from './api-keys.ts'
import { Authenticator } from './authenticator.ts'
import { Guards } from './guard.ts'
import { JwtVerifier } from './jwt.ts'
import { RateLimits } from './rate-limits.ts'
import { openAuthSecrets } from './secret.ts'
import { clientAddresses } from './trusted-proxies.ts'
import type { Verifier } from './verifier.ts'
import { Webhooks } from './webhooks.ts'

type Context = Pick<PluginContext<Settings>, 'config' | 'projectRoot' | 'log' | 'keep'>

/** Opens the guards of a program, with the providers that it may need. `own`: those of its users. */
export async function openGuards(
  ctx: Context,
  program: Program,
  store: DatabaseStore,
  own: readonly Verifier[] = []
): Promise<Guards> {
  const { config, log, projectRoot } = ctx
  const auth = authSettings(config)
  const verifiers = identifies(program) ? [...own, ...(await openVerifiers(auth, projectRoot, store, program))] : []
  return new Guards(program, {
    authenticator: new Authenticator(verifiers),
    addresses: clientAddresses(auth),
    limits: new RateLimits(undefined, undefined, await kept(ctx, 'rate limits')),
    webhooks: new Webhooks(auth.webhooks, undefined, await kept(ctx, 'deliveries of webhooks')),
    log
  })
}

/** Returns a map that outlives a reload of the plugin: a saved file must not allow more calls. */
function kept(ctx: Pick<Context, 'keep'>, name: string): Promise<Map<string, number>> {
  return ctx.keep(
    name,
    () => new Map<string, number>(),
    () => undefined
  )
}

/** True if a guard, or a function that depends on its caller, needs identities. */
function identifies({ guards, facts }: Program): boolean {
  return (
    guards.some(({ auth }) => auth !== null) ||
    Object.values(facts.declarations).some(({ request }) => request !== 'none')
  )
}

async function openVerifiers(
  auth: AuthSettings,
  projectRoot: string,
  store: DatabaseStore,
  { users }: Pick<Program, 'users'>
): Promise<Verifier[]> {
  const { issuer, audience } = auth
  // The user 1 of an issuer must not get the rows of the user 1 of the program.
  const issuers = auth.issuers.map(each => {
    return users === null || each.id_prefix !== '' ? each : { ...each, id_prefix: `${each.issuer}|` }
  })
  const secrets = await openAuthSecrets(auth.secret, projectRoot, store)
  return [new JwtVerifier({ secrets, issuer, audience, issuers }), new ApiKeyVerifier(new ApiKeys(store))]
}
