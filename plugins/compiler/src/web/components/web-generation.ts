import { printJson } from '../../ir/print-json.ts'
import { documentTreeOf } from '../../react/web-tree.ts'
import type { Settings } from '../../settings.ts'
import { webIrDocument } from '../../web-ir/document.ts'
import type { WebModule } from '../web-module.ts'
import { type EmittedComponents, emitComponents } from './emit-components.ts'

export type WebGenerationSettings = Pick<Settings, 'webir_validate' | 'webir_reactive_trace' | 'island_mount_v2'>

/**
 * Generates components and the web IR as the settings require. `warn` is called once for each setting without an
 * effect.
 */
export function webGeneration(
  settings: () => WebGenerationSettings,
  trace: (line: string) => void,
  warn: (message: string) => void
): { components(web: WebModule): EmittedComponents; webIr(web: WebModule): string } {
  let hasWarned = false
  return {
    components(web) {
      const { webir_validate, webir_reactive_trace, island_mount_v2 } = settings()
      if (island_mount_v2 && !hasWarned) {
        hasWarned = true
        warn('SVC_ISLAND_MOUNT_V2: the second way to mount islands does not exist yet; the first way is used')
      }
      return emitComponents(web, {
        validate: webir_validate,
        ...(webir_reactive_trace ? { trace } : {})
      })
    },
    webIr({ module, hir, source }) {
      const tree = documentTreeOf(module, source.text, hir)
      return `${printJson(webIrDocument(module, hir, tree).ir)}\n`
    }
  }
}
