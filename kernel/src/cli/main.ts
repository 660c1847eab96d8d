import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { defined, type OperationDescriptor, type PluginManifest } from '@svc/plugin-sdk'
import type { PluginCatalog } from '../host/catalog.ts'
import { version } from '../host/version.ts'
import { commandTree } from './commands.ts'
import { cliErrors } from './errors.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { catalogChoices, commandWords, type GlobalFlags, onlyOf, readGlobalFlags, renameOwnFlags } from './flags.ts'
import { type PlainText, plainTextOf, withoutMarkdown } from './plain-text.ts'
import { errorJson, renderError } from './render.ts'
import { terminalOf } from './terminal.ts'

export { EXIT }

/** Runs a command line; resolves to the exit code. Help, completion and `--version` load no plugin code. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`${version}\n`)
    return EXIT.ok
  }
  // A reader such as `head` may close the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })
  const flags = readGlobalFlags(argv)
  const texts: Texts = { plain: withoutMarkdown }
  try {
    return await run(argv, flags, texts)
  } catch (error) {
    process.stderr.write(
      flags.json
        ? `${JSON.stringify(errorJson(error))}\n`
        : `${renderError(error, terminalOf(process.stderr), texts.plain)}\n`
    )
    return exitCodeOf(error)
  }
}

/** Plain-text conversion of error messages. Replaced once the commands are known. */
interface Texts {
  plain: PlainText
}

async function run(given: readonly string[], globalFlags: GlobalFlags, texts: Texts): Promise<number> {
  let flags = globalFlags
  let argv = given[0] === 'help' ? [...given.slice(1), '--help'] : given
  const { project } = flags
  if (project !== undefined && statSync(project, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw cliErrors.create('CLI_ARGUMENT_INVALID', `--project names ${project}, which is not a folder`)
  }
  const { readCatalog } = await import('../host/catalog.ts')
  const only = onlyOf(argv)
  const cwd = flags.project ?? process.cwd()
  const read = () => readCatalog(defined({ cwd, env: process.env, ...catalogChoices(flags), only }))
  let catalog = await read()
  if (await finishesRestore(catalog)) catalog = await read()
  const renamed = renameOwnFlags(argv, flaggedCommands([...catalog.manifests, ...catalog.lapsed]))
  if (renamed !== argv) {
    // The flag is an option of the command, so that it did not choose the configuration.
    argv = renamed
    flags = readGlobalFlags(argv)
    catalog = await read()
  }
  const unknownProfile = catalog.sources.problems.filter(({ code }) => code === 'CFG_PROFILE_UNKNOWN')
  // The commands of the configuration report problems themselves, and help is always available.
  const needsProfile =
    !flags.safe && !argv.includes('--help') && !['config', COMPLETE].includes(commandWords(argv)[0] ?? '')
  if (unknownProfile.length > 0 && needsProfile) {
    const { problemsError } = await import('@svc/config')
    throw problemsError(unknownProfile)
  }
  const isEnabled = ({ name, enabledByDefault }: PluginManifest): boolean =>
    !catalog.isLeftOut(name) && (catalog.peek.enabled(name) ?? enabledByDefault)
  const { manifests, lapsed } = catalog
  texts.plain = plainTextOf([...manifests, ...lapsed])
  const root = commandTree(manifests.filter(isEnabled), lapsed.filter(isEnabled))
  if (argv[0] === COMPLETE) {
    const { complete } = await import('./complete.ts')
    return complete(argv.slice(1), root, catalog)
  }
  const operation = operationToExplain(argv, [...manifests, ...lapsed])
  if (operation !== undefined) {
    const { describeOperation } = await import('./describe-operation.ts')
    const { plugin, descriptor } = operation
    const text = flags.json
      ? JSON.stringify(descriptor)
      : describeOperation(plugin, descriptor, terminalOf(process.stdout), plainTextOf([...manifests, ...lapsed]))
    process.stdout.write(`${text}\n`)
    return EXIT.ok
  }
  const { parse } = await import('./parser.ts')
  const parsed = await parse(argv, root, commandTree([...manifests, ...lapsed].filter(each => !isEnabled(each))))
  switch (parsed.kind) {
    case 'command':
      return parsed.command.run({ catalog, flags }, parsed.input)
    case 'shown':
      return EXIT.ok
    case 'nothing':
      process.stderr.write(`${parsed.help}\n`)
      return EXIT.usage
  }
}

/** Finishes a restore that was interrupted, before anything reads the project. Returns false if there was none. */
async function finishesRestore({ projectRoot: project, state }: Pick<PluginCatalog, 'projectRoot' | 'state'>) {
  // A literal path, so that commands do not load the contracts for it.
  // toestub-ignore(scaling/blocking-in-async) - one look before anything is served
  if (!existsSync(join(project, '.svc-restore', 'journal.json'))) return false
  const { finishRestore } = await import('@svc/contracts')
  const kept = await finishRestore({ project, state })
  process.stderr.write(`an interrupted restore was finished; the replaced files are in ${kept}\n`)
  return true
}

/** Returns the commands that may have options with the names of global flags. */
function flaggedCommands(manifests: readonly PluginManifest[]) {
  return manifests.flatMap(({ operations, commands }) => [
    ...operations.flatMap(({ expose }) => expose.cli ?? []),
    ...commands
  ])
}

/** Returns the operation if the command line is `svc call ID --help`. */
function operationToExplain(
  argv: readonly string[],
  manifests: readonly PluginManifest[]
): { readonly plugin: string; readonly descriptor: OperationDescriptor } | undefined {
  const [command, id] = commandWords(argv)
  if (command !== 'call' || !argv.some(word => word === '--help' || word === '-h')) return undefined
  for (const { name, operations } of manifests) {
    const descriptor = operations.find(each => each.id === id)
    if (descriptor !== undefined) return { plugin: name, descriptor }
  }
  return undefined
}

/** Hidden command that completion scripts call. Arguments: index of the word under the cursor, words. */
const COMPLETE = '__complete'
