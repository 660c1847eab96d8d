import { readFile, writeFile } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import type { StubFinding } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'
import { type AcceptedFinding, parseBaseline, printBaseline } from '../policy/baseline.ts'
import type { StoredState } from './stored-state.ts'

/** Returns true for the path of a file, false for a name in the database. */
export function isFile(name: string): boolean {
  return name.includes('/') || name.includes('\\') || name.endsWith('.json')
}

/** Reads a file that an option names. Throws the error with the code. */
export async function readText(
  root: string,
  file: string,
  code: 'STB_BUDGET_INVALID' | 'STB_FINDINGS_INVALID' | 'STB_BASELINE_INVALID' | 'STB_SUPPRESSIONS_INVALID'
): Promise<string> {
  try {
    return await readFile(isAbsolute(file) ? file : join(root, file), 'utf8')
  } catch (error) {
    throw stubCheckErrors.create(code, `${file} cannot be read: ${errorMessage(error)}`, {
      hint: 'name a file that exists'
    })
  }
}

/** Baselines of a project, in files and in the database. */
export class Baselines {
  readonly #root: string
  readonly #stored: () => StoredState | null

  constructor(projectRoot: string, stored: () => StoredState | null) {
    this.#root = projectRoot
    this.#stored = stored
  }

  /** Returns the findings that a baseline accepts. Throws `STB_BASELINE_UNKNOWN` and `STB_BASELINE_INVALID`. */
  async read(name: string, path: string): Promise<readonly AcceptedFinding[]> {
    const text = isFile(name)
      ? await readText(this.#root, name, 'STB_BASELINE_INVALID')
      : await this.#stored()?.baseline(name, path)
    if (text === null || text === undefined)
      throw stubCheckErrors.create('STB_BASELINE_UNKNOWN', `no baseline is called ${name}`, {
        hint: `save it: svc stub-check --save-baseline ${name}`
      })
    return parseBaseline(text, name)
  }

  /** Throws `STB_BASELINE_INVALID` if the file cannot be written. */
  async save(name: string, path: string, findings: readonly StubFinding[]): Promise<void> {
    const text = printBaseline(findings)
    if (!isFile(name)) return void (await this.#stored()?.saveBaseline(name, path, text))
    await writeFile(resolve(this.#root, name), text).catch(error => {
      throw stubCheckErrors.create('STB_BASELINE_INVALID', `${name} cannot be written: ${errorMessage(error)}`, {
        hint: 'name a file in a folder that exists'
      })
    })
  }
}
