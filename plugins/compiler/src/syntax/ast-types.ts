import type { Name, Node } from './node.ts'

export type Type = NamedType | OptionalType | FunctionType | TupleType | UnitType | InferType | DecimalType | SizeType

/** `a.B[T, 2]`. `[T]` is read as `List[T]`, whose name then has the span of the bracket. */
export interface NamedType extends Node<'NamedType'> {
  readonly path: readonly Name[]
  readonly args: readonly Type[]
}

/** `T?`. */
export interface OptionalType extends Node<'OptionalType'> {
  readonly inner: Type
}

export interface FunctionType extends Node<'FunctionType'> {
  readonly params: readonly Type[]
  readonly result: Type | null
}

/** Two or more elements. */
export interface TupleType extends Node<'TupleType'> {
  readonly items: readonly Type[]
}

/** `()`. */
export interface UnitType extends Node<'UnitType'> {}

/** `_`. */
export interface InferType extends Node<'InferType'> {}

/** `dec`. */
export interface DecimalType extends Node<'DecimalType'> {}

/** A number as an argument: `Tensor[2]`. */
export interface SizeType extends Node<'SizeType'> {
  readonly size: number
}
