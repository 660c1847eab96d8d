import type { PluginManifest } from '@svc/plugin-sdk'
import { flagsOf } from '../../kernel/src/cli/arguments.ts'
import { commandTree, walk } from '../../kernel/src/cli/commands.ts'

export interface KnownCommand {
  /** Words that name a command or a group. Empty if there is none. */
  readonly path: readonly string[]
  /** False for a group without a command of that name. */
  readonly isCommand: boolean
  /** Options with their dashes, including those of every command. */
  readonly flags: ReadonlySet<string>
}

/** Returns a function that finds the command of a command line. */
export function knownCommands(manifests: readonly PluginManifest[]): (words: readonly string[]) => KnownCommand {
  const root = commandTree(manifests)
  return words => {
    const { node, path } = walk(root, words)
    const flags = new Set(flagsOf(node.command).map(({ flag }) => flag))
    return { path, isCommand: node.command !== undefined, flags }
  }
}
