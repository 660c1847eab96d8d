import { resolve } from 'node:path'
import type { ScannedText, StubScanner } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { ScanOptions } from './engine/scan-file.ts'
import { stubCheckErrors } from './errors.ts'
import { readSuppressions } from './policy/suppressions.ts'
import { isRule, withChildren } from './rules/catalog.ts'
import { listFiles } from './scan/list-files.ts'
import {
  type CheckProgram,
  type KnownResult,
  type ProjectScan,
  type ScanCache,
  scanProject
} from './scan/project-scan.ts'
import { DEFAULT_THREADS, type Settings } from './settings.ts'
import type { StoredState } from './store/stored-state.ts'
import { ScanPool } from './worker/scan-pool.ts'

export interface CheckRequest {
  /** File or folder, relative to the project. */
  readonly path: string
  /** Ids of rules or groups; null: all. */
  readonly rules: readonly string[] | null
  readonly exclude: readonly string[]
  /** Extensions; null: all that are scanned. */
  readonly langs: readonly string[] | null
  /** True to refuse paths outside of the project. */
  readonly confined: boolean
}

export interface CheckerParts {
  readonly settings: () => Settings
  readonly projectRoot: string
  readonly log: Logger
  readonly check: CheckProgram
  /** Suppressions and cache of the database; null without one. */
  readonly stored: () => Pick<StoredState, 'cache' | 'places'> | null
}

/** The scans of this plugin: projects for its surfaces, and texts for other plugins. */
export class Checker implements StubScanner {
  readonly #parts: CheckerParts
  readonly #pool: ScanPool

  constructor(parts: CheckerParts) {
    this.#parts = parts
    this.#pool = new ScanPool(() => {
      const { threads = DEFAULT_THREADS, max_file_kib, file_timeout_ms } = parts.settings()
      return { threads, maxBytes: max_file_kib * 1_024, fileMs: file_timeout_ms }
    })
  }

  /**
   * Scans a file or folder. Throws `STB_RULE_UNKNOWN`, `STB_PATH_UNREADABLE`, `STB_PATH_OUTSIDE` and
   * `STB_SUPPRESSIONS_INVALID`.
   */
  async scan(
    request: CheckRequest,
    signal: AbortSignal,
    onProgress?: (done: number, total: number) => void
  ): Promise<ProjectScan> {
    const { settings, projectRoot, log, check, stored } = this.#parts
    const current = settings()
    for (const id of [...(request.rules ?? []), ...current.disabled_rules]) refuseUnknown(id)
    const listing = await listFiles({
      projectRoot,
      path: request.path,
      exclude: [...current.exclude, ...request.exclude],
      langs: request.langs,
      confined: request.confined,
      signal
    })
    const suppressions = await readSuppressions(resolve(projectRoot, current.suppressions), current.suppressions)
    const notes: string[] = []
    const state = stored()
    const places = await optional(
      notes,
      'suppressions in the database could not be read',
      async () => (await state?.places()) ?? []
    )
    const scan = await scanProject(
      this.#pool,
      current.cache && state !== null ? guarded(state.cache, log) : null,
      check,
      {
        listing,
        scan: this.#options(request.rules, true),
        suppressions,
        places: places ?? [],
        now: Date.now(),
        signal,
        ...(onProgress === undefined ? {} : { onProgress })
      }
    )
    return { ...scan, notes: [...scan.notes, ...notes] }
  }

  async scanTexts(
    texts: readonly { readonly path: string; readonly text: string }[],
    signal?: AbortSignal
  ): Promise<readonly ScannedText[]> {
    const results = await this.#pool.scan(texts, this.#options(null, false), signal)
    return results.map(({ path, state, findings }) => ({
      path,
      state: state === 'unreadable' || state === 'unchanged' ? 'timed_out' : state,
      findings: state === 'scanned' ? findings : []
    }))
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #options(rules: readonly string[] | null, project: boolean): ScanOptions {
    const { disabled_rules, require_rationale, file_timeout_ms } = this.#parts.settings()
    return {
      rules: rules === null ? null : withChildren(rules),
      withoutRules: withChildren(disabled_rules),
      requiresRationale: require_rationale,
      project,
      parseMs: Math.max(50, file_timeout_ms / 4)
    }
  }
}

function refuseUnknown(id: string): void {
  if (!isRule(id))
    throw stubCheckErrors.create('STB_RULE_UNKNOWN', `${JSON.stringify(id)} is not a rule`, {
      hint: 'list the rules: svc stub-check-rules'
    })
}

/** A cache whose failures cost time only. */
function guarded(cache: ScanCache, log: Logger): ScanCache {
  return {
    known: async options =>
      await cache.known(options).catch(error => {
        log.warn('kept results could not be read; all files are scanned', { reason: errorMessage(error) })
        return new Map<string, KnownResult>()
      }),
    store: async (results, options) =>
      await cache
        .store(results, options)
        .catch(error => void log.warn('results could not be kept', { reason: errorMessage(error) }))
  }
}

async function optional<A>(notes: string[], note: string, run: () => Promise<A>): Promise<A | null> {
  try {
    return await run()
  } catch {
    notes.push(note)
    return null
  }
}
