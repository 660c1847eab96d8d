import type { Name, Node } from './node.ts'

export type Type = NamedType | OptionalType | FunctionType | TupleType | UnitType | InferType | DecimalType | SizeType

/** A named type: `a.B[T, 2]`. `[T]` is parsed as `List[T]`; the span of its name is that of the bracket. */
export interface NamedType extends Node<'NamedType'> {
  readonly path: readonly Name[]
  readonly args: readonly Type[]
}

/** An optional type: `T?`. */
export interface OptionalType extends Node<'OptionalType'> {
  readonly inner: Type
}

export interface FunctionType extends Node<'FunctionType'> {
  readonly params: readonly Type[]
  readonly result: Type | null
}

/** A tuple type with two or more elements. */
export interface TupleType extends Node<'TupleType'> {
  readonly items: readonly Type[]
}

/** The unit type `()`. */
export interface UnitType extends Node<'UnitType'> {}

/** The inferred type `_`. */
export interface InferType extends Node<'InferType'> {}

/** The decimal type `dec`. */
export interface DecimalType extends Node<'DecimalType'> {}

/** A number as a type argument: `Tensor[2]`. */
export interface SizeType extends Node<'SizeType'> {
  readonly size: number
}
