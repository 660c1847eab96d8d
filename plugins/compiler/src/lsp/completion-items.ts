import { defined } from '@svc/plugin-sdk'
import {
  type CompletionItem,
  type CompletionItemKind,
  InsertTextFormat,
  MarkupKind,
  type Range
} from 'vscode-languageserver'
import type { VocabularyWord } from './vocabulary/word.ts'

export interface ItemDetails {
  readonly detail?: string
  readonly text?: string
  readonly snippet?: string
  /** Sort key by distance, nearest first: `0` to `9`. */
  readonly rank?: string
}

/** Builds completions that replace one word. */
export class CompletionItems {
  readonly #range: Range
  readonly #items = new Map<string, CompletionItem>()

  constructor(range: Range) {
    this.#range = range
  }

  get found(): CompletionItem[] {
    return [...this.#items.values()]
  }

  /** Adds a completion, unless its label exists. */
  add(label: string, kind: CompletionItemKind, { detail, text, snippet, rank = '5' }: ItemDetails = {}): void {
    if (this.#items.has(label)) return
    this.#items.set(label, {
      label,
      kind,
      sortText: `${rank}${label}`,
      insertTextFormat: snippet === undefined ? InsertTextFormat.PlainText : InsertTextFormat.Snippet,
      textEdit: { range: this.#range, newText: snippet ?? label },
      ...defined({
        detail,
        documentation: text === undefined ? undefined : { kind: MarkupKind.Markdown, value: text }
      })
    })
  }

  words(known: ReadonlyMap<string, VocabularyWord>, kind: CompletionItemKind, rank: string): void {
    for (const { name, signature, text, snippet } of known.values()) {
      this.add(name, kind, defined({ detail: signature, text, rank, snippet }))
    }
  }
}

/** Returns a snippet of a call with placeholders for its required arguments. */
export function callSnippet(name: string, params: readonly string[]): string {
  return `${name}(${params.map((param, index) => `\${${index + 1}:${param}}`).join(', ')})`
}
