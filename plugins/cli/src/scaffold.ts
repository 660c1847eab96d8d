import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type ErrorDetails, type ErrorsOf, type OutputOf, SvcError } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { type pluginsNew, scaffoldErrors } from './plugins-operations.ts'
import { templateFiles } from './template.ts'

/**
 * Creates a plugin package in `plugins/NAME` of the project, or in a folder relative to the working directory. The
 * folder must be inside the project and empty or absent.
 *
 * The package declares its dependencies with versions. If the project cannot resolve one of them, the printed next
 * steps begin with an installation. If svc runs from a clone, it links the SDK and the kernel of the clone.
 */
export async function scaffold(
  projectRoot: string,
  name: string,
  directory: string | undefined,
  withPage: boolean
): Promise<OutputOf<typeof pluginsNew>> {
  const target = directory === undefined ? join(projectRoot, 'plugins', name) : resolve(directory)
  const inside = relative(projectRoot, target)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    throw scaffoldError('CLI_DIRECTORY_OUTSIDE', `${target} is outside the project ${projectRoot}`, {
      hint: `omit the folder to create plugins/${name}`
    })
  }
  const present = existsSync(target) ? await readdir(target) : []
  if (present.length > 0)
    throw scaffoldError('CLI_DIRECTORY_EXISTS', `${target} is not empty`, {
      hint: `choose another folder: svc plugins new ${name} FOLDER`
    })
  const range = (each: SdkPackage): string => `^${versionInReach(projectRoot, each) ?? installedVersion(each)}`
  const files = templateFiles(name, range, withPage)
  for (const [path, content] of files) {
    const file = join(target, path)
    makeFolder(dirname(file))
    await writeFile(file, content, { flag: 'wx' })
  }
  return { directory: target, files: [...files.keys()], text: nextSteps(projectRoot, name, slashes(inside), withPage) }
}

/** Creates an error that `svc plugins new` declares, with a next step. */
export function scaffoldError(
  code: keyof ErrorsOf<typeof pluginsNew>,
  message: string,
  details: ErrorDetails
): SvcError {
  return new SvcError(code, message, { ...details, status: scaffoldErrors[code].status })
}

/** Commands up to this length are aligned; longer ones would push the descriptions too far to the right. */
const MAX_ALIGNED_CHARS = 60

function nextSteps(projectRoot: string, name: string, place: string, withPage: boolean): string {
  const steps: [command: string, purpose: string][] = [
    ...installStep(projectRoot, place, withPage),
    [`npm test --prefix ${place}`, 'build and run the tests'],
    [`npm run check --prefix ${place}`, 'check the types'],
    ['svc plugins list', 'list the plugin'],
    [`svc ${name} greet Ada`, 'call its operation'],
    ...(withPage ? [['svc dashboard', 'open the console, which shows its pages'] as [string, string]] : [])
  ]
  const width = Math.max(...steps.map(([command]) => command.length).filter(length => length <= MAX_ALIGNED_CHARS))
  const elsewhere = [
    '',
    'svc finds plugins only in plugins/; for this one, add to svc.toml:',
    '  [kernel]',
    `  plugin_directories = ["${place}"]`
  ]
  return [
    `created ${place}`,
    ...steps.map(([command, purpose]) => `  ${command.padEnd(width)}  # ${purpose}`),
    ...(/^plugins\/[^/]+$/.test(place) ? [] : elsewhere)
  ].join('\n')
}

function installStep(projectRoot: string, place: string, withPage: boolean): [command: string, purpose: string][] {
  const packages = withPage ? [...SDK_PACKAGES, '@svc/contracts' as const] : SDK_PACKAGES
  if ([...packages, ...TOOLS].every(each => versionInReach(projectRoot, each) !== undefined)) return []
  const command = `npm install --prefix ${place}`
  const folders = packages.map(installedFolder)
  const isClone = folders.every(folder => !folder.split(sep).includes('node_modules'))
  return isClone
    ? [[`${command} --no-save ${folders.map(slashes).join(' ')}`, 'install TypeScript and link the SDK of this clone']]
    : [[command, 'install the SDK and TypeScript']]
}

export type SdkPackage = '@svc/plugin-sdk' | '@svc/contracts' | '@svc/kernel'
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

/** Returns the folder of an SDK package. This plugin can resolve only the SDK; the others are always next to it. */
function installedFolder(name: SdkPackage): string {
  const sdk = dirname(realpathSync(createRequire(import.meta.url).resolve('@svc/plugin-sdk/package.json')))
  return name === '@svc/plugin-sdk' ? sdk : join(dirname(sdk), name.slice('@svc/'.length))
}

function slashes(path: string): string {
  return path.split(sep).join('/')
}
