import { checkModule } from '#check'
import type { Diagnostic } from '#diagnostics'
import { format } from '#format'
import { hasErrors, irDocument, printIr, programOf, SourceFile } from '#root'
import { indexSymbols, type SymbolIndex } from '#symbols'
import { parse, sameSyntax, walk } from '#syntax'

/** Returns a bug of the compiler that `source` reveals; null if there is none. Thrown errors propagate. */
export function flaw(source: string, script: boolean): string | null {
  const parsed = parse(source, { script })
  // Editors also check the parsed part of a source with errors.
  const { diagnostics, types } = checkModule(parsed.module, { suppressHookLints: false })
  const astray = misplaced([...parsed.diagnostics, ...diagnostics], source)
  if (astray !== undefined) return `the span of "${astray.message}" is outside the file`
  let crooked: string | null = null
  walk(parsed.module, node => {
    if (node.start > node.end || node.end > source.length) crooked = node.kind
    return true
  })
  if (crooked !== null) return `the span of a ${crooked} is outside the file`
  const astrayWord = wordAstray(indexSymbols(parsed.module, types), source)
  if (astrayWord !== null) return astrayWord
  if (hasErrors(parsed.diagnostics)) return null
  // Only a program without errors is lowered.
  if (!hasErrors(diagnostics)) {
    printIr(irDocument(parsed.module, source, new Date(0)))
    programOf({ file: new SourceFile('program.vox', source), parsed, diagnostics, types })
  }
  const text = format(parsed)
  const again = parse(text, { script })
  if (!sameSyntax(parsed.module.items, again.module.items)) return `formatting changes its meaning:\n${text}`
  if (parsed.tokens.comments.length !== again.tokens.comments.length) return `formatting loses a comment:\n${text}`
  return format(again) === text ? null : `formatting twice gives another result:\n${text}`
}

/**
 * Returns a resolved word that differs from the name of its symbol, or overlaps another word; null if there is none.
 */
function wordAstray({ occurrences }: SymbolIndex, source: string): string | null {
  let end = 0
  for (const { start, end: next, symbol, form } of occurrences) {
    const text = source.slice(start, next)
    if (start < end) return `the word "${text}" overlaps another one`
    if (form !== 'string' && text.replace(/^["']|["']$/g, '') !== symbol.name && !text.startsWith('attr_')) {
      return `the word "${text}" is resolved to "${symbol.name}"`
    }
    end = next
  }
  return null
}

function misplaced(diagnostics: readonly Diagnostic[], { length }: string): Diagnostic | undefined {
  return diagnostics.find(({ span, fixes, related }) =>
    [span, ...fixes.map(fix => fix.span), ...related.map(each => each.span)].some(
      ({ start, end }) => !(start >= 0 && start <= end && end <= length)
    )
  )
}
