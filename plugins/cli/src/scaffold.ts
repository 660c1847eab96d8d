import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Call, ErrorsOf, OutputOf } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import type { pluginsNew } from './plugins-operations.ts'
import { templateFiles } from './template.ts'

/**
 * Writes a new plugin package into `plugins/NAME` of the project, or into a folder relative to the working directory. It
 * must be inside the project and be empty or absent.
 *
 * The package names its dependencies by version. If the project resolves none of them, the next steps begin with an
 * installation, which links the SDK and the kernel if this program runs from a clone.
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
    call.fail('CLI_DIRECTORY_OUTSIDE', `${target} is not a folder inside the project ${projectRoot}`)
  }
  const present = existsSync(target) ? await readdir(target) : []
  if (present.length > 0) call.fail('CLI_DIRECTORY_EXISTS', `${target} exists and is not empty`)
  const files = templateFiles(name, each => `^${versionInReach(projectRoot, each) ?? installedVersion(each)}`)
  for (const [path, content] of files) {
    const file = join(target, path)
    makeFolder(dirname(file))
    await writeFile(file, content, { flag: 'wx' })
  }
  return { directory: target, files: [...files.keys()], text: nextSteps(projectRoot, name, slashes(inside)) }
}

/** Longer commands would push the other descriptions out of view. */
const MAX_ALIGNED_CHARS = 60

function nextSteps(projectRoot: string, name: string, place: string): string {
  const steps: [command: string, purpose: string][] = [
    ...installStep(projectRoot, place),
    [`npm test --prefix ${place}`, 'build it and run its tests'],
    [`npm run check --prefix ${place}`, 'check its types'],
    ['svc plugins list', 'see it'],
    [`svc ${name} greet Ada`, 'use it']
  ]
  const width = Math.max(...steps.map(([command]) => command.length).filter(length => length <= MAX_ALIGNED_CHARS))
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

function installStep(projectRoot: string, place: string): [command: string, purpose: string][] {
  if ([...SDK_PACKAGES, ...TOOLS].every(each => versionInReach(projectRoot, each) !== undefined)) return []
  const command = `npm install --prefix ${place}`
  const folders = SDK_PACKAGES.map(installedFolder)
  const isClone = folders.every(folder => !folder.split(sep).includes('node_modules'))
  return isClone
    ? [[`${command} --no-save ${folders.map(slashes).join(' ')}`, 'fetch TypeScript, link the SDK of this clone']]
    : [[command, 'fetch the SDK and TypeScript']]
}

export type SdkPackage = '@svc/plugin-sdk' | '@svc/kernel'
const SDK_PACKAGES: readonly SdkPackage[] = ['@svc/plugin-sdk', '@svc/kernel']
const TOOLS = ['typescript', '@types/node']

function versionInReach(projectRoot: string, name: string): string | undefined {
  try {
    return versionOf(createRequire(join(projectRoot, 'package.json')).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

function installedVersion(name: SdkPackage): string {
  return versionOf(join(installedFolder(name), 'package.json'))
}

function versionOf(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** This plugin depends only on the SDK; the kernel is next to it in every installation. */
function installedFolder(name: SdkPackage): string {
  const sdk = dirname(realpathSync(createRequire(import.meta.url).resolve('@svc/plugin-sdk/package.json')))
  return name === '@svc/plugin-sdk' ? sdk : join(dirname(sdk), 'kernel')
}

function slashes(path: string): string {
  return path.split(sep).join('/')
}
