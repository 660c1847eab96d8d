import { existsSync, realpathSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Call, ErrorsOf, OutputOf } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import type { pluginsNew } from './plugins-operations.ts'
import { templateFiles } from './template.ts'

/**
 * Writes a new plugin package into `plugins/NAME` of the project, or into a folder relative to the working directory. It
 * must lie in the project and be empty or absent.
 *
 * Where the project already has the SDK in reach, nothing needs to be installed; elsewhere the package refers to the
 * SDK and the kernel of this installation by path.
 */
export async function scaffold(
  projectRoot: string,
  name: string,
  directory: string | undefined,
  call: Call<ErrorsOf<typeof pluginsNew>>
): Promise<OutputOf<typeof pluginsNew>> {
  const target = directory === undefined ? join(projectRoot, 'plugins', name) : resolve(directory)
  const inside = relative(projectRoot, target)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    call.fail('CLI_DIRECTORY_OUTSIDE', `${target} is no folder inside of the project ${projectRoot}`)
  }
  const present = existsSync(target) ? await readdir(target) : []
  if (present.length > 0) call.fail('CLI_DIRECTORY_EXISTS', `${target} exists and is not empty`)
  const inReach = SDK_PACKAGES.every(each => versionInReach(projectRoot, each) !== undefined)
  const files = templateFiles(name, each => dependencySpec(projectRoot, target, each))
  for (const [path, content] of files) {
    const file = join(target, path)
    makeFolder(dirname(file))
    await writeFile(file, content, { flag: 'wx' })
  }
  return { directory: target, files: [...files.keys()], text: nextSteps(name, slashes(inside), inReach) }
}

function nextSteps(name: string, place: string, inReach: boolean): string {
  const steps: [string, string][] = [
    ...(inReach ? [] : [[`npm install --prefix ${place}`, 'fetch the SDK'] as [string, string]]),
    [`npm test --prefix ${place}`, 'build it and run its tests'],
    ['svc plugins list', 'see it'],
    [`svc ${name} greet Ada`, 'use it']
  ]
  const width = Math.max(...steps.map(([command]) => command.length))
  const elsewhere = [
    '',
    'svc looks for plugins in plugins/; for this one, write into svc.toml:',
    '  [kernel]',
    `  plugin_directories = ["${place}"]`
  ]
  return [
    `made ${place}`,
    ...steps.map(([command, purpose]) => `  ${command.padEnd(width)}  # ${purpose}`),
    ...(/^plugins\/[^/]+$/.test(place) ? [] : elsewhere)
  ].join('\n')
}

type SdkPackage = '@svc/plugin-sdk' | '@svc/kernel'
const SDK_PACKAGES: readonly SdkPackage[] = ['@svc/plugin-sdk', '@svc/kernel']

/** Version to write for one of our packages. */
export type DependencySpec = (name: SdkPackage) => string

function dependencySpec(projectRoot: string, target: string, name: SdkPackage): string {
  const version = versionInReach(projectRoot, name)
  // Another copy of the SDK would do, but the one of this installation is certain to fit the kernel that runs.
  return version === undefined ? `file:${slashes(relative(target, installedFolder(name)))}` : `^${version}`
}

function versionInReach(projectRoot: string, name: SdkPackage): string | undefined {
  try {
    const { version } = createRequire(join(projectRoot, 'package.json'))(`${name}/package.json`) as { version: string }
    return version
  } catch {
    return undefined
  }
}

/** This plugin depends only on the SDK; the kernel is next to it in every installation. */
function installedFolder(name: SdkPackage): string {
  const sdk = dirname(realpathSync(createRequire(import.meta.url).resolve('@svc/plugin-sdk/package.json')))
  return name === '@svc/plugin-sdk' ? sdk : join(dirname(sdk), 'kernel')
}

function slashes(path: string): string {
  return path.split(sep).join('/')
}
