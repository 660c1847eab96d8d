import { type Disposer, describePlugin, type PluginManifest } from '@svc/plugin-sdk'
import type { InstanceHooks } from '../core/plugin-source.ts'
import { checkDefinition } from './definition.ts'
import { type EvaluateOptions, evaluate, type PluginCode } from './evaluate.ts'
import { validateManifest } from './manifest.ts'

/** Runs a module body in this process and returns the plugin's manifest. */
export async function manifestOf(
  code: PluginCode,
  version: string,
  evaluation: EvaluateOptions = {}
): Promise<PluginManifest> {
  const disposers: Disposer[] = []
  const hooks: InstanceHooks = {
    effect: (_label, dispose) => {
      disposers.push(dispose)
      return dispose
    },
    // Leaks of the module body are reported again when the plugin is activated.
    onLeak: () => {},
    onError: () => {}
  }
  try {
    const { plugin } = evaluate(code, evaluation, hooks)
    checkDefinition(plugin, code.name, code.root)
    return validateManifest(JSON.parse(JSON.stringify(describePlugin(plugin, version))), code.root)
  } finally {
    for (const dispose of disposers) await dispose()
  }
}
