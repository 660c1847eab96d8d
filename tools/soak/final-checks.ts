import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Ledger } from './ledger.ts'
import type { SvcNode } from './svc-node.ts'

const require = createRequire(import.meta.url)

/** Files that must not be left after a shutdown. */
const LEFTOVER = /(\.tmp$|\.partial$|\.part$|^tmp\/|^\.vox\/tmp\/|^\.vox\/files\/incoming\/|~$)/

/** Checks what an ended node left: databases, temporary files, processes. */
export function checkEnded(ledger: Ledger, node: SvcNode): void {
  for (const file of filesOf(node.folder)) {
    if (file.endsWith('.db')) {
      const result = integrityOf(join(node.folder, file))
      if (result === 'ok') ledger.count('databases', 'ok')
      else ledger.violate('databases', node.name, `${file}: integrity_check says ${result}`)
    }
    if (LEFTOVER.test(file)) ledger.violate('leftovers', node.name, `the file ${file} was left`)
  }
  for (const process of processesOf(node.folder))
    ledger.violate('leftovers', node.name, `a process was left: ${process}`)
}

function filesOf(folder: string): string[] {
  const files: string[] = []
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) walk(name)
      else if (!entry.isSymbolicLink()) files.push(name)
    }
  }
  walk('')
  return files
}

function integrityOf(file: string): string {
  const Database = require('libsql')
  try {
    const database = new Database(file)
    try {
      const rows = database.prepare('pragma integrity_check').all() as { integrity_check: string }[]
      return rows.map(row => row.integrity_check).join('; ')
    } finally {
      database.close()
    }
  } catch (error) {
    return String(error)
  }
}

/** Returns the processes whose command line or working directory is below a folder. */
function processesOf(folder: string): string[] {
  const found: string[] = []
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid) continue
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      const directory = readlinkSync(`/proc/${pid}/cwd`)
      if (directory.startsWith(folder) || command.includes(folder)) found.push(`${pid} ${command.slice(0, 200)}`)
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found
}
