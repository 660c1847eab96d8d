import { words } from './word.ts'

/** Types of the language. */
export const TYPE_WORDS = words(`
int | int | A 64-bit integer.
float | float | A floating-point number.
dec | dec | An exact decimal number: \`19.99dec\`.
str | str | A string.
char | char | A single character.
bool | bool | \`true\` or \`false\`.
Unit | Unit | The type of a function without a result.
any | any | A value of any type.
Element | Element | An element of a view.
List | List[T] | Ordered values. | List[\${1:T}]
Map | Map[K, V] | Values by keys. | Map[\${1:str}, \${2:T}]
Set | Set[T] | Unique values. | Set[\${1:T}]
Option | Option[T] | A value or none: \`Some(v)\`, \`None\`. | Option[\${1:T}]
Result | Result[T] | A value or a failure: \`Ok(v)\`, \`Error(message)\`. | Result[\${1:T}]
Id | Id[T] | The \`_id\` of a row. | Id[\${1:Table}]
Stream | Stream[T] | Values that arrive over time. | Stream[\${1:T}]
Tensor | Tensor[2] | Numbers in one or more dimensions. | Tensor[\${1:2}]
Json | Json | A JSON document.
Regex | Regex | A regular expression.
Request | Request | The request of a client.
`)
