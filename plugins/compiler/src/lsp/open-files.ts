import type { TextDocument } from 'vscode-languageserver-textdocument'
import { Analysis, type AnalysisOptions } from './analysis.ts'

/** Analyses of the newest versions of open files. */
export class OpenFiles {
  readonly #options: () => AnalysisOptions
  readonly #known = new Map<string, Analysis>()

  constructor(options: () => AnalysisOptions) {
    this.#options = options
  }

  of(document: TextDocument): Analysis {
    const known = this.#known.get(document.uri)
    if (known !== undefined && known.document.version === document.version) return known
    const analysis = new Analysis(document, this.#options())
    this.#known.set(document.uri, analysis)
    return analysis
  }

  close(uri: string): void {
    this.#known.delete(uri)
  }
}
