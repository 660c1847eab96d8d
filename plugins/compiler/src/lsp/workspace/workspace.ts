import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { Analysis, type AnalysisOptions } from '../analysis.ts'
import type { OpenFiles } from '../open-files.ts'

const SUFFIX = '.vox'

/** Maximum number of files that are scanned. */
const MAX_FILES = 2000

/** Maximum size of a source file, in bytes. Larger files are skipped, since they are generated. */
const MAX_BYTES = 1 << 20

/** A file as last read from disk. */
interface ReadFile {
  readonly modified: number
  readonly size: number
  readonly analysis: Analysis
}

/** The files in an editor's folders. Open files have the editor's content; others are read from disk. */
export class Workspace {
  readonly #open: () => readonly TextDocument[]
  readonly #files: OpenFiles
  readonly #options: () => AnalysisOptions
  readonly #read = new Map<string, ReadFile>()
  #folders: readonly string[] = []

  constructor(open: () => readonly TextDocument[], files: OpenFiles, options: () => AnalysisOptions) {
    this.#open = open
    this.#files = files
    this.#options = options
  }

  /** Sets the folders, as URIs. Folders of other machines are ignored. */
  useFolders(uris: readonly string[]): void {
    this.#folders = uris.flatMap(uri => pathOf(uri) ?? [])
  }

  /** Returns the file that an import in `from` refers to; null if there is none. */
  imported(from: Analysis, words: readonly string[]): Analysis | null {
    const own = pathOf(from.document.uri)
    if (own === null || words.length === 0) return null
    for (const folder of [dirname(own), ...this.#folders]) {
      const found = this.#at(resolve(folder, ...words.slice(0, -1), `${words.at(-1)}${SUFFIX}`))
      if (found !== null) return found
    }
    return null
  }

  /** Returns `from`, the open files, and the files of the folders: all files that may import `from`. */
  around(from: Analysis): readonly Analysis[] {
    const own = pathOf(from.document.uri)
    if (own === null) return [from]
    const paths = new Set([own])
    for (const { uri } of this.#open()) {
      const path = pathOf(uri)
      if (path?.endsWith(SUFFIX)) paths.add(path)
    }
    // Without folders, the neighbours of a file are the files next to it.
    if (this.#folders.length === 0) collect(dirname(own), paths, false)
    for (const folder of this.#folders) collect(folder, paths, true)
    return [...paths].flatMap(path => (path === own ? from : (this.#at(path) ?? [])))
  }

  #at(path: string): Analysis | null {
    const open = this.#open().find(({ uri }) => pathOf(uri) === path)
    return open === undefined ? this.#onDisk(path) : this.#files.of(open)
  }

  #onDisk(path: string): Analysis | null {
    try {
      const { mtimeMs: modified, size, ...stats } = statSync(path)
      const known = this.#read.get(path)
      if (known !== undefined && known.modified === modified && known.size === size) return known.analysis
      if (size > MAX_BYTES || (stats.mode & 0o170000) !== 0o100000) return null
      const document = TextDocument.create(pathToFileURL(path).href, 'vox', 0, readFileSync(path, 'utf8'))
      const analysis = new Analysis(document, this.#options())
      this.#read.set(path, { modified, size, analysis })
      return analysis
    } catch {
      // The file is missing or unreadable.
      this.#read.delete(path)
      return null
    }
  }
}

function collect(folder: string, paths: Set<string>, deep: boolean): void {
  for (const entry of entriesOf(folder)) {
    if (paths.size >= MAX_FILES) return
    const path = join(folder, entry.name)
    if (entry.isFile() && entry.name.endsWith(SUFFIX)) paths.add(path)
    else if (deep && entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') {
      collect(path, paths, deep)
    }
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Returns the path of a file on this machine; null for other URIs. */
function pathOf(uri: string): string | null {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : null
  } catch {
    return null
  }
}
