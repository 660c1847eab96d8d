import type { KernelAdmin } from '@svc/contracts'
import type { Ref, Service } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'

/**
 * A service of another plugin, looked up on each request of a program. Throws `RUN_UNSUPPORTED` with the missing
 * service.
 */
export type Provided<A> = () => Promise<A>

/**
 * A service with a name in the standard library. A process with few plugins, such as for a single
 * command, activates its provider on demand.
 */
export function provided<A>(
  name: string,
  token: Service<A>,
  reference: Ref<A> | undefined,
  admin: KernelAdmin | undefined
): Provided<A> {
  return async () => {
    const held = reference?.available
    if (held !== undefined) return held
    const plugins = admin?.plugins() ?? []
    const plugin = plugins.find(each => provides(admin?.manifest(each.name)?.provides, token))?.name
    if (plugin === undefined) {
      const package_ = `@svc/plugin-${name.toLowerCase()}`
      throw runErrors.create('RUN_UNSUPPORTED', `${name} needs a plugin that provides ${token.id}, such as ${package_}`)
    }
    await admin?.apply({ activate: [plugin] })
    const activated = reference?.available
    if (activated !== undefined) return activated
    const why = admin?.why(plugin)[0] ?? `${plugin} is not running`
    const remedy = `set "enabled = true" in [plugins.${plugin}] of svc.toml`
    throw runErrors.create('RUN_UNSUPPORTED', `${name} cannot be used, since ${why}; ${remedy}`)
  }
}

function provides(provided: readonly unknown[] | undefined, { id }: Service): boolean {
  return provided?.includes(id) === true
}
