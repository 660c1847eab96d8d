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

/** A function whose body is being checked. */
export interface BodyFrame {
  /** Declared result type; null if there is none. */
  readonly declared: ValueType | null
  /** Types of the values of `return` statements. */
  readonly returns: ValueType[]
}

/** State shared by all parts of the type inference for one body. */
export abstract class BodyContext {
  protected readonly signatures: Signatures
  protected readonly locals = new LocalTypes()
  protected frame: BodyFrame = { declared: null, returns: [] }

  constructor(signatures: Signatures) {
    this.signatures = signatures
  }

  /** Infers the type of an expression. `tail` is the declared result type if the value is the result of a function. */
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

  /** Records the expected types of record literals in a value. */
  protected expect(value: Expression, expected: ValueType): void {
    expectRecords(value, expected, this.signatures)
  }

  /** Reports a type mismatch. `otherwise` holds fixes that apply if unwrapping the value does not help. */
  protected mismatch(
    code: DiagnosticCode,
    message: string,
    at: Span | Expression,
    expected: ValueType,
    found: ValueType,
    otherwise: readonly Fix[] = []
  ): void {
    const unwrapped = unwrapFix(at, expected, found)
    const fixes = unwrapped.length > 0 ? unwrapped : otherwise
    this.report(code, message, at, { expectedType: show(expected), foundType: show(found), fixes })
  }

  protected report(code: DiagnosticCode, message: string, at: Span, details: DiagnosticDetails = {}): void {
    this.signatures.report(diagnostic(code, message, at, details))
  }
}
