import type { KernelAdmin } from '@svc/contracts'
import type { Ref, Service } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'

/**
 * Looks up a service of another plugin, on each request of a program. Throws `RUN_UNSUPPORTED` if it is missing.
 */
export type Provided<A> = () => Promise<A>

/**
 * Returns the lookup of a service. `name` is its name in the standard library. In a process of a single command, which
 * loads few plugins, the lookup activates the provider.
 */
export function provided<A>(
  name: string,
  token: Service<A>,
  reference: Ref<A> | undefined,
  admin: KernelAdmin | undefined
): Provided<A> {
  return async () => {
    const available = reference?.available
    if (available !== undefined) return available
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
