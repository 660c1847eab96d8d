import {
  callDaemon,
  type Invocation,
  parseSecretReference,
  probeDaemon,
  readDaemonState,
  type SecretsResolver,
  secretsResolver
} from '@svc/contracts'
import { lookup } from '../config/layers.ts'
import type { Catalog } from '../host/catalog.ts'
import type { Session } from './commands.ts'
import { withProject } from './one-shot.ts'

type Listeners = Pick<Invocation, 'onEvent' | 'onProgress'>

/** The running daemon of a project. */
export interface Daemon {
  call(method: string, params: unknown, signal: AbortSignal, listeners: Listeners): Promise<unknown>
}

/**
 * The daemon that answers for the session's project, or null. Settings that were given for this command alone
 * (`--set`, `--profile`) are no business of a process with settings of its own, so they keep the command here.
 */
export async function findDaemon(session: Session): Promise<Daemon | null> {
  const { flags, catalog } = session
  if (flags.inProcess || flags.set.length > 0 || flags.profile !== undefined) return null
  const state = await readDaemonState(catalog.projectRoot)
  if (state === null) return null
  const token = await tokenOf(session)
  const shown = token === undefined ? {} : { token }
  if (!(await probeDaemon(state, shown))) return null
  return {
    call: (method, params, signal, listeners) => callDaemon(state, method, params, { signal, ...shown, ...listeners })
  }
}

/** What the daemon demands to be shown, as the files of the project say it. */
async function tokenOf(session: Session): Promise<string | undefined> {
  const told = configuredToken(session.catalog)
  const reference = told === undefined ? null : parseSecretReference(told)
  if (reference === null) return told
  const resolver = session.catalog.manifests.find(each => each.provides.includes(secretsResolver.id))
  if (resolver === undefined) return undefined
  return withProject(session, { activate: [resolver.name] }, async ({ kernel }) => {
    const service = kernel.current.services.resolve(secretsResolver.id) as SecretsResolver | undefined
    return service?.resolve(reference)
  })
}

function configuredToken({ sources }: Catalog): string | undefined {
  const values = sources.layers.map(layer => lookup(layer.table, ['plugins', 'daemon', 'token']))
  const last = values.findLast(value => value !== undefined)
  return typeof last === 'string' && last !== '' ? last : undefined
}
