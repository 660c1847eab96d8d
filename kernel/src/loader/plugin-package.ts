import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { SvcError } from '@svc/plugin-sdk'
import { loaderErrors } from './errors.ts'
import { PLUGIN_NAME } from './manifest.ts'

/** Plugin fields of a package.json. Paths are absolute and inside the package. */
export interface PluginPackage {
  readonly root: string
  readonly packageName: string
  readonly version: string
  /** `svc.plugin`: path of the compiled plugin. Its manifest `plugin.json` is next to it. */
  readonly plugin: string
  /** `svc.source`: path of the source; null if there is none. */
  readonly source: string | null
  readonly sourceExists: boolean
  /** `svc.name`: name of the plugin, for use before its manifest is read. */
  readonly pluginName: string | null
  /** `svc.entries`: files compiled next to the plugin for its workers and child processes. */
  readonly entries: Readonly<Record<string, string>>
  /** `svc.pages`: sources of page modules, which are compiled to `page/NAME.js` next to the plugin. */
  readonly pages: Readonly<Record<string, string>>
}

/** Returns the path of a compiled page module. */
export function builtPage({ plugin }: Pick<PluginPackage, 'plugin'>, name: string): string {
  return join(dirname(plugin), 'page', `${name}.js`)
}

interface PackageJson {
  readonly name?: unknown
  readonly version?: unknown
  readonly svc?: {
    readonly plugin?: unknown
    readonly source?: unknown
    readonly name?: unknown
    readonly entries?: Readonly<Record<string, unknown>>
    readonly pages?: Readonly<Record<string, unknown>>
  }
}

/** Reads a package.json; `svc` is undefined if it declares no plugin. Throws `LDR_PACKAGE_INVALID`. */
export function readPackageJson(root: string): PackageJson {
  const file = join(root, 'package.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'has no package.json' : (cause as Error).message
    const hint = 'a plugin is a folder with a package.json that has "svc": { "plugin": "./dist/plugin.cjs" }'
    throw loaderErrors.create('LDR_PACKAGE_INVALID', `${root} ${reason}`, { at: { file }, hint, cause })
  }
  try {
    return Object(JSON.parse(text)) as PackageJson
  } catch (cause) {
    const message = `${file} is not JSON: ${(cause as Error).message}`
    throw loaderErrors.create('LDR_PACKAGE_INVALID', message, { at: { file }, hint: 'correct the file', cause })
  }
}

/**
 * Reads the plugin fields of a package.json. Throws `LDR_PACKAGE_INVALID` if it is missing or malformed,
 * `LDR_NOT_A_PLUGIN` if it declares no plugin, `LDR_ENTRY_INVALID` if it names files outside the package.
 */
export function readPluginPackage(root: string): PluginPackage {
  const json = readPackageJson(root)
  const { svc } = json
  const file = join(root, 'package.json')
  const invalid = (code: 'LDR_PACKAGE_INVALID' | 'LDR_NOT_A_PLUGIN', what: string): SvcError =>
    loaderErrors.create(code, `${file} ${what}`, {
      at: { file, path: 'svc' },
      hint: 'add "svc": { "plugin": "./dist/plugin.cjs", "source": "./src/plugin.ts" }'
    })
  if (svc === undefined) throw invalid('LDR_NOT_A_PLUGIN', 'declares no plugin')
  if (typeof json.name !== 'string' || typeof json.version !== 'string')
    throw invalid('LDR_PACKAGE_INVALID', 'needs a name and a version')
  if (typeof svc?.plugin !== 'string') throw invalid('LDR_PACKAGE_INVALID', 'needs a path in svc.plugin')
  const source = typeof svc.source === 'string' ? inside(root, 'svc.source', svc.source) : null
  const files = (field: 'entries' | 'pages'): Record<string, string> => {
    const named = Object.entries(svc[field] ?? {}).map(([name, path]) => {
      if (!/^[a-z][a-z0-9-]*$/.test(name) || name === 'plugin' || typeof path !== 'string')
        throw invalid(
          'LDR_PACKAGE_INVALID',
          `has an invalid entry svc.${field}."${name}": a lower-case name and a path are required`
        )
      return [name, inside(root, `svc.${field}.${name}`, path)]
    })
    return Object.fromEntries(named)
  }
  const plugin = inside(root, 'svc.plugin', svc.plugin)
  const pages = files('pages')
  const overwritten = Object.entries(pages).find(([name, path]) => path === builtPage({ plugin }, name))
  if (overwritten !== undefined)
    throw invalid('LDR_PACKAGE_INVALID', `has a page whose build would replace its source: svc.pages.${overwritten[0]}`)
  return {
    root,
    packageName: json.name,
    version: json.version,
    plugin,
    source,
    sourceExists: source !== null && existsSync(source),
    pluginName: typeof svc.name === 'string' && PLUGIN_NAME.test(svc.name) ? svc.name : null,
    entries: files('entries'),
    pages
  }
}

/** Resolves a path of a package and its links. Throws `LDR_ENTRY_INVALID` if it is outside the package. */
function inside(root: string, field: string, path: string): string {
  const file = resolve(root, path)
  const real = existsSync(file) ? realpathSync.native(file) : file
  if (file.startsWith(root + sep) && real.startsWith(root + sep)) return file
  throw loaderErrors.create(
    'LDR_ENTRY_INVALID',
    `${join(root, 'package.json')}: ${field} names ${path}, which is outside the package`,
    {
      at: { file: join(root, 'package.json'), path: field },
      hint: 'move the file into the folder of the plugin'
    }
  )
}
