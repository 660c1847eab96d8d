import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** File contents by path. Objects are written as JSON. */
export type Files = Readonly<Record<string, string | object>>

export function temporaryFolder(files: Files, prefix = 'svc-test-'): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  writeFiles(root, files)
  return root
}

export function writeFiles(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
}
