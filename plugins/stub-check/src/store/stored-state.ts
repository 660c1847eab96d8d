import { createHash } from 'node:crypto'
import type { SqlStatement } from '@svc/contracts'
import type { ScanOptions } from '../engine/scan-file.ts'
import type { PlaceSuppression } from '../policy/suppressions.ts'
import { rulesVersion } from '../rules/catalog.ts'
import type { KnownResult, ScanCache } from '../scan/project-scan.ts'
import type { ScanResult } from '../worker/protocol.ts'
import type { Tables } from './tables.ts'

/** State of the plugin in the database: results of unchanged files, baselines, suppressions, tasks and signals. */
export class StoredState {
  readonly #tables: Tables
  readonly #repositoryId: string
  readonly cache: ScanCache

  constructor(tables: Tables, repositoryId: string) {
    this.#tables = tables
    this.#repositoryId = repositoryId
    this.cache = { known: options => this.#known(options), store: (results, options) => this.#store(results, options) }
  }

  async places(): Promise<readonly PlaceSuppression[]> {
    const rows = await this.#tables.rows('SELECT path, line, rule_id, reason FROM toestub_suppressions ORDER BY id')
    return rows.map(({ path, line, rule_id, reason }) => ({
      path: String(path),
      line: line === null || line === undefined ? null : Number(line),
      rule: String(rule_id),
      reason: String(reason)
    }))
  }

  /** Returns how many of the suppressions are new. */
  async importPlaces(places: readonly PlaceSuppression[]): Promise<number> {
    return await this.#tables.write(
      places.map(({ path, line, rule, reason }) => ({
        sql: 'INSERT INTO toestub_suppressions (path, line, rule_id, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
        parameters: [path, line, rule, reason]
      }))
    )
  }

  /** Returns the findings of a named baseline as JSON; null if it was never saved. */
  async baseline(name: string, path: string): Promise<string | null> {
    const [row] = await this.#tables.rows(
      'SELECT findings_json FROM toestub_baselines WHERE name = ? AND run_scope = ?',
      [name, this.#scope(path)]
    )
    return row === undefined ? null : String(row.findings_json)
  }

  async saveBaseline(name: string, path: string, findings: string): Promise<void> {
    const sql = `INSERT INTO toestub_baselines (name, run_scope, findings_json, updated_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (name, run_scope) DO UPDATE SET findings_json = excluded.findings_json, updated_at = excluded.updated_at`
    await this.#tables.write([{ sql, parameters: [name, this.#scope(path), findings, new Date().toISOString()] }])
  }

  /** Keeps the result of the last comparison of a path with its baseline. `at`: Unix milliseconds. */
  async saveBaselineRun(path: string, at: number, run: string): Promise<void> {
    const sql = `INSERT INTO toestub_baseline_runs (run_scope, run_json, at_ms) VALUES (?, ?, ?)
      ON CONFLICT (run_scope) DO UPDATE SET run_json = excluded.run_json, at_ms = excluded.at_ms`
    await this.#tables.write([{ sql, parameters: [this.#scope(path), run, at] }])
  }

  async removeBaselineRun(path: string): Promise<void> {
    await this.#tables.write([
      { sql: 'DELETE FROM toestub_baseline_runs WHERE run_scope = ?', parameters: [this.#scope(path)] }
    ])
  }

  /** Returns the comparison of a path as JSON; null without one. */
  async baselineRun(path: string): Promise<string | null> {
    const [row] = await this.#tables.rows('SELECT run_json FROM toestub_baseline_runs WHERE run_scope = ?', [
      this.#scope(path)
    ])
    return row === undefined ? null : String(row.run_json)
  }

  /** Returns the comparisons of this project as JSON, newest first. */
  async baselineRuns(limit: number): Promise<readonly string[]> {
    const prefix = this.#scope('')
    const rows = await this.#tables.rows(
      'SELECT run_json FROM toestub_baseline_runs WHERE substr(run_scope, 1, ?) = ? ORDER BY at_ms DESC LIMIT ?',
      [prefix.length, prefix, limit]
    )
    return rows.map(({ run_json }) => String(run_json))
  }

  async saveTasks(user: string, path: string, total: number, suggestions: string): Promise<void> {
    const sql = `INSERT INTO toestub_task_queue (user_id, run_scope, total_findings, fix_suggestions_json, updated_at)
      VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, run_scope) DO UPDATE SET total_findings = excluded.total_findings,
      fix_suggestions_json = excluded.fix_suggestions_json, updated_at = excluded.updated_at`
    await this.#tables.write([
      { sql, parameters: [user, this.#scope(path), total, suggestions, new Date().toISOString()] }
    ])
  }

  /** Keeps the report of a scan, for the console. */
  async saveScan(path: string, envelope: string): Promise<void> {
    const sql = `INSERT INTO toestub_last_scans (run_scope, envelope_json, updated_at) VALUES (?, ?, ?)
      ON CONFLICT (run_scope) DO UPDATE SET envelope_json = excluded.envelope_json, updated_at = excluded.updated_at`
    await this.#tables.write([{ sql, parameters: [this.#scope(path), envelope, new Date().toISOString()] }])
  }

  /** Returns the report of the last scan of this project by any process; null before the first one. */
  async lastScan(): Promise<{ readonly path: string; readonly envelope: string; readonly at: string } | null> {
    const sql = `SELECT run_scope, envelope_json, updated_at FROM toestub_last_scans
      WHERE substr(run_scope, 1, ?) = ? ORDER BY updated_at DESC LIMIT 1`
    const prefix = this.#scope('')
    const [row] = await this.#tables.rows(sql, [prefix.length, prefix])
    if (row === undefined) return null
    const path = String(row.run_scope).slice(prefix.length)
    return { path, envelope: String(row.envelope_json), at: String(row.updated_at) }
  }

  /** Returns when any process last kept a scan of this project; null before the first one. */
  async lastScanAt(): Promise<string | null> {
    const prefix = this.#scope('')
    const [row] = await this.#tables.rows(
      'SELECT max(updated_at) AS at FROM toestub_last_scans WHERE substr(run_scope, 1, ?) = ?',
      [prefix.length, prefix]
    )
    return row?.at === null || row?.at === undefined ? null : String(row.at)
  }

  /** Returns true the first time for a user, a path and a day such as `2026-01-31`. */
  async isFirstSignal(user: string, path: string, day: string): Promise<boolean> {
    const sql = 'INSERT INTO toestub_debt_signals (user_id, path, day) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
    return (await this.#tables.write([{ sql, parameters: [user, this.#scope(path), day] }])) > 0
  }

  async #known(options: ScanOptions): Promise<ReadonlyMap<string, KnownResult>> {
    const prefix = this.#scope('')
    const rows = await this.#tables.rows(
      `SELECT path, content_hash, result_json FROM toestub_file_cache
      WHERE rules_version = ? AND substr(path, 1, ?) = ?`,
      [versionOf(options), prefix.length, prefix]
    )
    return new Map(
      rows.map(({ path, content_hash, result_json }) => [
        String(path).slice(prefix.length),
        { digest: String(content_hash), json: String(result_json) }
      ])
    )
  }

  async #store(results: readonly ScanResult[], options: ScanOptions): Promise<void> {
    const version = versionOf(options)
    const statements: SqlStatement[] = [
      // Results of other rules are never read again; those of other options may be.
      { sql: `DELETE FROM toestub_file_cache WHERE rules_version NOT LIKE ?`, parameters: [`${rulesVersion()}-%`] }
    ]
    for (const result of results) {
      if (result.state !== 'scanned' || result.digest === '') continue
      const path = this.#scope(result.path)
      statements.push(
        { sql: 'DELETE FROM toestub_file_cache WHERE path = ? AND rules_version = ?', parameters: [path, version] },
        {
          sql: 'INSERT INTO toestub_file_cache (path, content_hash, rules_version, result_json) VALUES (?, ?, ?, ?)',
          parameters: [path, result.digest, version, JSON.stringify({ ...result, windows: [...result.windows] })]
        }
      )
    }
    await this.#tables.write(statements)
  }

  #scope(path: string): string {
    return `${this.#repositoryId}:${path}`
  }
}

function versionOf({ rules, withoutRules, requiresRationale, project }: ScanOptions): string {
  const options = createHash('sha256')
    .update(JSON.stringify([rules, withoutRules, requiresRationale, project]))
    .digest('hex')
  return `${rulesVersion()}-${options.slice(0, 12)}`
}
