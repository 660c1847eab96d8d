import { Grammars, type ScanOptions, scanFile } from '#root'

let opened: Promise<Grammars> | undefined

const OPTIONS: ScanOptions = {
  rules: null,
  withoutRules: [],
  requiresRationale: false,
  project: true,
  parseMs: 60_000
}

/** Scans a text in this thread. */
export async function scan(path: string, text: string, options: Partial<ScanOptions> = {}) {
  opened ??= Grammars.open()
  return await scanFile(await opened, path, text, { ...OPTIONS, ...options })
}

/** Returns the findings of a text as `line rule`. */
export async function found(
  path: string,
  text: string,
  options: Partial<ScanOptions> = {}
): Promise<readonly string[]> {
  return (await scan(path, text, options)).findings.map(({ line, ruleId }) => `${line} ${ruleId}`)
}
