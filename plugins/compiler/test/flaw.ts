import { check } from '../src/check/check.ts'
import { hasErrors } from '../src/compile.ts'
import type { Diagnostic } from '../src/diagnostics/diagnostic.ts'
import { format } from '../src/format/format.ts'
import { parse } from '../src/syntax/parse.ts'
import { sameSyntax } from '../src/syntax/same-syntax.ts'
import { walk } from '../src/syntax/walk.ts'

/** What is wrong with how the compiler treats `source`; null for nothing. A throw of any part is for the caller. */
export function flaw(source: string, script: boolean): string | null {
  const parsed = parse(source, { script })
  // Editors check what could be read of a text with errors, too.
  const checked = check(parsed.module, { suppressHookLints: false })
  const astray = misplaced([...parsed.diagnostics, ...checked], source)
  if (astray !== undefined) return `the place of "${astray.message}" lies outside`
  let crooked: string | null = null
  walk(parsed.module, node => {
    if (node.start > node.end || node.end > source.length) crooked = node.kind
    return true
  })
  if (crooked !== null) return `the place of a ${crooked} lies outside`
  if (hasErrors(parsed.diagnostics)) return null
  const text = format(parsed)
  const again = parse(text, { script })
  if (!sameSyntax(parsed.module.items, again.module.items)) return `formatted it means something else:\n${text}`
  if (parsed.tokens.comments.length !== again.tokens.comments.length) return `a comment is lost:\n${text}`
  return format(again) === text ? null : `formatted again it is another text:\n${text}`
}

function misplaced(diagnostics: readonly Diagnostic[], { length }: string): Diagnostic | undefined {
  return diagnostics.find(({ span, fixes, related }) =>
    [span, ...fixes.map(fix => fix.span), ...related.map(each => each.span)].some(
      ({ start, end }) => !(start >= 0 && start <= end && end <= length)
    )
  )
}
