import { chmodSync, existsSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isSvcError } from '@svc/plugin-sdk'
import { editToml } from './edit-toml.ts'
import { configErrors } from './errors.ts'
import { lookup } from './layers.ts'
import type { ConfigSources } from './sources.ts'
import { keyText, tryToml } from './toml.ts'

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
  replaceFile(file, withSwitch(file, path, enabled))
}

/** Replaces the content of a file atomically. Mode and symbolic links stay; a new file gets the mode 0644. */
export function replaceFile(file: string, text: string): void {
  const { target } = read(file)
  const draft = `${target}.${process.pid}.tmp`
  try {
    const mode = existsSync(target) ? statSync(target).mode & 0o7777 : undefined
    writeFileSync(draft, text, { mode: mode ?? 0o644 })
    // Set separately, since the umask restricts the mode of a new file.
    if (mode !== undefined) chmodSync(draft, mode)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Reads a file, or an empty text if it does not exist. `target`: its path with links resolved. */
function read(file: string): { readonly target: string; readonly text: string } {
  const target = existsSync(file) ? realpathSync(file) : file
  return { target, text: existsSync(target) ? readFileSync(target, 'utf8') : '' }
}

/** Returns the text of a file with the switch. Throws as {@link writeSwitch}. */
function withSwitch(file: string, path: readonly [string, string, string], enabled: boolean): string {
  try {
    return editToml(read(file).text, { [keyText(path)]: enabled })
  } catch (error) {
    if (isSvcError(error, 'CFG_TOML_SYNTAX'))
      throw configErrors.create('CFG_TOML_SYNTAX', `${file} is not valid TOML and was not changed`, {
        at: { file },
        hint: 'svc config validate shows the line and column',
        cause: error
      })
    throw configErrors.create('CFG_EDIT_FAILED', `${file} has a layout that svc cannot edit`, {
      at: { file },
      hint: `add ${keyText(path)} = ${enabled} to the file by hand`,
      cause: error
    })
  }
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
