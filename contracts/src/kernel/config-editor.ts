import type { ConfigProblem } from '@svc/plugin-sdk'
import type { ChangeReport } from './admin.ts'

/** Reads and changes the project's `svc.toml`. Part of the management of the kernel. */
export interface ConfigEditor {
  /** Returns the file. Literal secrets in it are masked. */
  read(): ConfigFile
  /** Returns what a change would do, without doing it. Throws as `write`, except for invalid content. */
  preview(edit: ConfigEdit): Promise<ConfigPreview>
  /**
   * Changes the file and applies it. Throws, with the file unchanged: `CFG_CHANGED` if the file is not the one with the
   * digest, `CFG_WRITE_REFUSED` if the content is invalid or a plugin refuses it, `CFG_EDIT_FAILED` and
   * `CFG_TOML_SYNTAX` if the text cannot be edited, `CFG_SETTING_UNKNOWN`, `CFG_VERSION_UNKNOWN`.
   */
  write(edit: ConfigEdit, digest?: string): Promise<ConfigWritten>
  /** Returns the kept previous texts of the file, newest first. */
  history(): readonly ConfigVersion[]
}

/**
 * One change of the file, in one of these forms:
 * - `changes`: values by dotted key; null removes a key.
 * - `assignments`: texts `KEY=VALUE` as on the command line. VALUE is TOML, or else a string.
 * - `raw`: the whole text.
 * - `number`: restores the text before the last change (1), before the last two (2), and so on. Or its `id`.
 */
export type ConfigEdit =
  | { readonly changes: Readonly<Record<string, unknown>> }
  | { readonly assignments: readonly string[] }
  | { readonly raw: string }
  | { readonly number: number }
  | { readonly id: string }

export interface ConfigFile {
  /** Absolute path. The file may not exist. */
  readonly path: string
  readonly exists: boolean
  /** Text with masked secrets; empty if the file does not exist. */
  readonly text: string
  /** SHA-256 of the text on disk, as hexadecimal digits. */
  readonly digest: string
  /** True if the text contains no mask, so that it may be edited and written as `raw`. */
  readonly editable: boolean
  /** Why the text may not be edited as a whole, with line numbers; null if it may. */
  readonly reason: string | null
}

export interface ConfigPreview {
  readonly path: string
  /** Digest of the text on disk, which `write` compares. */
  readonly digest: string
  /** Texts before and after the change, with masked secrets. */
  readonly before: string
  readonly after: string
  /** All problems of the changed configuration. */
  readonly problems: readonly ConfigProblem[]
  /** Problems that this change causes. `write` refuses a change with an error among them. */
  readonly caused: readonly ConfigProblem[]
  /** Changes of plugins. Null if the configuration is invalid, or if no server runs. */
  readonly plan: ChangeReport | null
  /** Changed keys of the file whose value has no effect, since a higher layer sets another one. */
  readonly shadowed: readonly ShadowedKey[]
  /** Settings whose value changes, with the way in which they take effect. */
  readonly changed: readonly ChangedSetting[]
}

export interface ShadowedKey {
  readonly key: string
  /** Layer that wins: `project` (another line of the file), `profile`, `local`, `environment`, `set` or `only`. */
  readonly layer: string
  /** File with line, variable, or option. */
  readonly place: string
}

export interface ChangedSetting {
  readonly key: string
  /** `live`: at once; `plugin`: by replacing its plugin; `restart`: at the next start of svc. */
  readonly reload: 'live' | 'plugin' | 'restart'
}

export interface ConfigWritten extends Omit<ConfigPreview, 'plan'> {
  /** False if the file already had this content. */
  readonly written: boolean
  /** True if the configuration is in force. False if no server runs, or if an earlier error is still in the file. */
  readonly applied: boolean
  /** Digest of the new text. */
  readonly digest: string
  /** Changes of plugins; null if nothing was applied. */
  readonly report: ChangeReport | null
  /** Plugins that do not run with their new settings, or earlier errors that prevent the change from being applied. */
  readonly refused: readonly { readonly plugin: string | null; readonly reason: string }[]
}

export interface ConfigVersion {
  /** 1 for the text before the last change. */
  readonly number: number
  readonly id: string
  /** Time of the change that replaced this text, as ISO 8601. */
  readonly time: string
  /** Keys that it changed. */
  readonly keys: readonly string[]
  /** Digest of the kept text. */
  readonly digest: string
}
