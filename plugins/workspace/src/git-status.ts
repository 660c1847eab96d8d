/** State of a file in the index or in the working tree. */
export type FileChange =
  | 'added'
  | 'modified'
  | 'deleted'
  | 'renamed'
  | 'copied'
  | 'type_changed'
  | 'conflict'
  | 'untracked'

export interface ChangedFile {
  readonly path: string
  /** Previous path of a renamed or copied file. */
  readonly from?: string
  /** Change that the next commit contains; null if there is none. */
  readonly staged: FileChange | null
  /** Change that is not staged; null if there is none. */
  readonly unstaged: FileChange | null
}

export interface GitStatus {
  /** Null if HEAD is detached. */
  readonly branch: string | null
  /** Null before the first commit. */
  readonly commit: string | null
  readonly upstream: string | null
  /** Commits that the upstream does not have; null without one. */
  readonly ahead: number | null
  readonly behind: number | null
  readonly files: readonly ChangedFile[]
}

const CHANGES: Readonly<Record<string, FileChange>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
  U: 'conflict'
}

/** Number of fields before the path of an entry, by its type. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10 }

/** Parses `git status --porcelain=v2 --branch -z`. Entries of unknown types are skipped. */
export function parseStatus(text: string): GitStatus {
  const headers = new Map<string, string>()
  const files: ChangedFile[] = []
  const records = text.split('\0')
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as string
    const type = record.slice(0, 1)
    if (type === '#') {
      const [, name = '', value = ''] = /^# (\S+) (.*)$/s.exec(record) ?? []
      headers.set(name, value)
    } else if (type === '?') files.push({ path: record.slice(2), staged: null, unstaged: 'untracked' })
    else if (FIELDS[type] !== undefined) {
      const path = afterFields(record, FIELDS[type])
      const states = record.slice(2, 4)
      // The record of a renamed file is followed by its previous path.
      const from = type === '2' ? records[++at] : undefined
      files.push({
        path,
        ...(from === undefined ? {} : { from }),
        staged: type === 'u' ? 'conflict' : (CHANGES[states[0] as string] ?? null),
        unstaged: type === 'u' ? 'conflict' : (CHANGES[states[1] as string] ?? null)
      })
    }
  }
  const { ahead = null, behind = null } =
    /^\+(?<ahead>\d+) -(?<behind>\d+)$/.exec(headers.get('branch.ab') ?? '')?.groups ?? {}
  return {
    branch: known(headers.get('branch.head'), '(detached)'),
    commit: known(headers.get('branch.oid'), '(initial)'),
    upstream: headers.get('branch.upstream') ?? null,
    ahead: ahead === null ? null : Number(ahead),
    behind: behind === null ? null : Number(behind),
    files
  }
}

function known(value: string | undefined, absent: string): string | null {
  return value === undefined || value === absent ? null : value
}

/** Returns the text after this number of fields, which end with a space. The path itself may contain spaces. */
function afterFields(record: string, count: number): string {
  let at = 0
  for (let field = 0; field < count; field++) at = record.indexOf(' ', at) + 1
  return record.slice(at)
}
