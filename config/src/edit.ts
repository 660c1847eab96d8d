import { existsSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { isSvcError } from '@svc/plugin-sdk'
import { configErrors } from './errors.ts'
import { lookup, merge, nest, type Path, type Table } from './layers.ts'
import type { ConfigSources } from './sources.ts'
import { keyText, parseToml, type TomlEntry, tomlEntries, tryToml } from './toml.ts'

/** File in which a switch is stored. */
export interface SwitchFile {
  readonly file: string
  /** Reason for a file other than the project file. */
  readonly why: string | null
}

/**
 * Returns the file in which to store a switch: the project file, or the local file if it already has the key, since it
 * takes precedence, or if the project file cannot be edited. Throws as {@link writeSwitch} if neither can be edited.
 */
export function switchFile(
  { projectFile, localFile }: Pick<ConfigSources, 'projectFile' | 'localFile'>,
  path: readonly [string, string, string],
  enabled: boolean
): SwitchFile {
  const local = tryToml(read(localFile).text)
  if (local !== undefined && lookup(local, path) !== undefined)
    return { file: localFile, why: `it takes precedence over ${projectFile}` }
  try {
    withSwitch(projectFile, path, enabled)
    return { file: projectFile, why: null }
  } catch (error) {
    if (!isSvcError(error)) throw error
    withSwitch(localFile, path, enabled)
    return {
      file: localFile,
      why: `${projectFile} ${isSvcError(error, 'CFG_TOML_SYNTAX') ? 'is not valid TOML' : 'has a layout that svc cannot edit'}`
    }
  }
}

/**
 * Writes `TABLE.MEMBER.KEY = true` or `false` into a TOML file. Comments and layout stay. Creates the file if it does
 * not exist, and replaces it atomically. Throws `CFG_TOML_SYNTAX` if the file is not valid TOML, and `CFG_EDIT_FAILED`
 * if its layout cannot be edited safely. If it throws, the file is unchanged.
 */
export function writeSwitch(file: string, path: readonly [string, string, string], enabled: boolean): void {
  const { target } = read(file)
  const edited = withSwitch(file, path, enabled)
  const draft = `${target}.${process.pid}.tmp`
  writeFileSync(draft, edited, { mode: existsSync(target) ? statSync(target).mode : 0o644 })
  renameSync(draft, target)
}

/** Reads a file, or an empty text if it does not exist. `target`: its path with links resolved. */
function read(file: string): { readonly target: string; readonly text: string } {
  const target = existsSync(file) ? realpathSync(file) : file
  return { target, text: existsSync(target) ? readFileSync(target, 'utf8') : '' }
}

/** Returns the text of a file with the switch. Throws as {@link writeSwitch}. */
function withSwitch(file: string, path: readonly [string, string, string], enabled: boolean): string {
  const { text } = read(file)
  let before: Table
  try {
    before = parseToml(text)
  } catch (error) {
    throw configErrors.create('CFG_TOML_SYNTAX', `${file} is not valid TOML and was not changed`, {
      at: { file },
      hint: 'svc config validate shows the line and column',
      cause: error
    })
  }
  const edited = withValue(text, path, String(enabled))
  if (!isDeepStrictEqual(tryToml(edited), merge(before, nest(path, enabled)))) {
    throw configErrors.create('CFG_EDIT_FAILED', `${file} has a layout that svc cannot edit`, {
      at: { file },
      hint: `add ${keyText(path)} = ${enabled} to the file by hand`
    })
  }
  return edited
}

/** Saves the content of a file, or that it does not exist. Returns a function that restores this state. */
export function rememberFile(file: string): () => void {
  const target = existsSync(file) ? realpathSync(file) : file
  const text = existsSync(target) ? readFileSync(target, 'utf8') : undefined
  return () => {
    if (text === undefined) rmSync(target, { force: true })
    else if (readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
  }
}

function withValue(text: string, path: Path, value: string): string {
  const entries = text.trim() === '' ? [] : tomlEntries(text)
  const splice = (from: number, to: number, insert: string): string => text.slice(0, from) + insert + text.slice(to)
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const isAt = (entry: TomlEntry, length: number): boolean =>
    entry.path.length === length && entry.path.every((key, index) => key === path[index])
  const pairs = entries.flatMap(({ path, node }) => (node.type === 'TOMLKeyValue' ? [{ path, node }] : []))

  const present = pairs.find(pair => isAt(pair, path.length))
  if (present !== undefined) return splice(...present.node.value.range, value)

  const table = entries.find(entry => entry.node.type === 'TOMLTable' && isAt(entry, 2))
  if (table !== undefined) {
    const end = text.indexOf('\n', table.node.key.range[1])
    const line = `${keyText(path.slice(2))} = ${value}`
    return end === -1 ? `${text}${newline}${line}${newline}` : splice(end + 1, end + 1, `${line}${newline}`)
  }
  for (const length of [2, 1]) {
    const inline = pairs.find(pair => isAt(pair, length) && pair.node.value.type === 'TOMLInlineTable')
    if (inline?.node.value.type === 'TOMLInlineTable') {
      const start = inline.node.value.range[0] + 1
      const rest = inline.node.value.body.length > 0 ? ',' : ' '
      return splice(start, start, ` ${keyText(path.slice(length))} = ${value}${rest}`)
    }
  }
  // `NAME.port = 1` inside [plugins] already defines the plugin's table: TOML forbids a later [plugins.NAME] header.
  const sibling = pairs.find(pair => pair.path.length > 2 && pair.path[0] === path[0] && pair.path[1] === path[1])
  const base = sibling === undefined ? 0 : sibling.path.length - sibling.node.key.keys.length
  if (sibling !== undefined && base < 2) {
    const start = sibling.node.range[0]
    const indent = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
    return splice(start, start, `${keyText(path.slice(base))} = ${value}${newline}${indent}`)
  }
  const gap = text === '' ? '' : text.endsWith('\n') ? newline : newline + newline
  return `${text}${gap}[${keyText(path.slice(0, 2))}]${newline}${keyText(path.slice(2))} = ${value}${newline}`
}
