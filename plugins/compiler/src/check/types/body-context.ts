import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import { type DiagnosticDetails, diagnostic, type Fix } from '../../diagnostics/diagnostic.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Pattern } from '../../syntax/ast-statements.ts'
import type { Span } from '../../syntax/node.ts'
import { expectRecords } from './expected-records.ts'
import { LocalTypes } from './local-types.ts'
import { patternTypes } from './pattern-types.ts'
import type { Signatures } from './signatures.ts'
import { show, type ValueType } from './type.ts'
import { unwrapFix } from './unwrap-fix.ts'

/** A function whose body is being read. */
export interface BodyFrame {
  /** Declared result type; null without one. */
  readonly declared: ValueType | null
  /** Types of the early returns. */
  readonly returns: ValueType[]
}

/** State shared by all readers of one body. */
export abstract class BodyContext {
  protected readonly signatures: Signatures
  protected readonly locals = new LocalTypes()
  protected frame: BodyFrame = { declared: null, returns: [] }

  constructor(signatures: Signatures) {
    this.signatures = signatures
  }

  /** The type of an expression; with `tail`, the result type of the function that ends with this expression. */
  abstract infer(expression: Expression, tail?: ValueType | null): ValueType

  bind(name: string, type: ValueType): void {
    this.locals.bind(name, type)
  }

  within(body: () => void): void {
    this.locals.within(body)
  }

  protected pattern(pattern: Pattern, type: ValueType): void {
    for (const [name, found] of patternTypes(pattern, type, this.signatures)) this.bind(name, found)
  }

  /** Reports a value of an unexpected type. */
  protected expect(value: Expression, wanted: ValueType): void {
    expectRecords(value, wanted, this.signatures)
  }

  /** `otherwise` holds fixes for a value that does not contain the expected type either. */
  protected mismatch(
    code: DiagnosticCode,
    message: string,
    at: Span | Expression,
    wanted: ValueType,
    found: ValueType,
    otherwise: readonly Fix[] = []
  ): void {
    const unwrapped = unwrapFix(at, wanted, found)
    const fixes = unwrapped.length > 0 ? unwrapped : otherwise
    this.say(code, message, at, { expectedType: show(wanted), foundType: show(found), fixes })
  }

  protected say(code: DiagnosticCode, message: string, at: Span, details: DiagnosticDetails = {}): void {
    this.signatures.report(diagnostic(code, message, at, details))
  }
}
