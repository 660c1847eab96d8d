import { existsSync, realpathSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Call, ErrorsOf } from '@svc/plugin-sdk'
import type { pluginsNew } from './plugins-operations.ts'
import { templateFiles } from './template.ts'

/**
 * Writes a new plugin package. The folder must lie in the project and be empty or absent.
 *
 * Where the project already has the SDK in reach, nothing needs to be installed; elsewhere the package refers to the
 * SDK and the kernel of this installation by path.
 */
export async function scaffold(
  projectRoot: string,
  name: string,
  directory: string | undefined,
  call: Call<ErrorsOf<typeof pluginsNew>>
): Promise<{ directory: string; files: string[]; text: string }> {
  const target = resolve(projectRoot, directory ?? join('plugins', name))
  const inside = relative(projectRoot, target)
  if (inside.startsWith('..') || isAbsolute(inside)) {
    call.fail('CLI_DIRECTORY_OUTSIDE', `${target} lies outside of the project ${projectRoot}`)
  }
  const present = existsSync(target) ? await readdir(target) : []
  if (present.length > 0) call.fail('CLI_DIRECTORY_EXISTS', `${target} exists and is not empty`)
  const spec = dependencySpec(projectRoot, target)
  const files = templateFiles(name, spec)
  for (const [path, content] of files) {
    const file = join(target, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content, { flag: 'wx' })
  }
  const place = relative(projectRoot, target).split(sep).join('/')
  return {
    directory: target,
    files: [...files.keys()],
    text: [
      `made ${files.size} files in ${place}`,
      `  svc plugins list                   see it`,
      ...(spec('@svc/plugin-sdk').startsWith('file:')
        ? [`  npm install --prefix ${place}      once, for its test`]
        : []),
      `  npm test --prefix ${place}         build it and run its test`,
      `  svc call ${name}.greet '{"name": "Ada"}'`,
      ...(place.startsWith('plugins/') ? [] : [`add "${place}" to [kernel] plugin_directories in svc.toml`])
    ].join('\n')
  }
}

/** What to write as the version of a package of ours. */
export type DependencySpec = (name: '@svc/plugin-sdk' | '@svc/kernel') => string

function dependencySpec(projectRoot: string, target: string): DependencySpec {
  const reach = createRequire(join(projectRoot, 'package.json'))
  const own = createRequire(import.meta.url)
  return name => {
    const manifest = `${name}/package.json`
    try {
      const { version } = reach(manifest) as { version: string }
      return `^${version}`
    } catch {
      // Another copy of the SDK would do, but this one is certain to fit the kernel that runs.
      const installed = dirname(realpathSync(resolveInstalled(own, manifest, target)))
      return `file:${relative(target, installed).split(sep).join('/')}`
    }
  }
}

/** This plugin depends on the SDK alone; the kernel lies beside it in every installation. */
function resolveInstalled(own: NodeJS.Require, manifest: string, target: string): string {
  try {
    return own.resolve(manifest)
  } catch {
    const sdk = dirname(realpathSync(own.resolve('@svc/plugin-sdk/package.json')))
    const beside = [join(sdk, '..', 'kernel', 'package.json'), join(sdk, '..', '..', 'kernel', 'package.json')]
    return beside.find(existsSync) ?? join(target, 'package.json')
  }
}
