import { words } from './word.ts'

/** Types of the language. */
export const TYPE_WORDS = words(`
int | int | A whole number of 64 bits.
float | float | A floating-point number.
dec | dec | A decimal number, exact: \`19.99dec\`.
str | str | A text.
char | char | A text of one character.
bool | bool | \`true\` or \`false\`.
Unit | Unit | The type of what gives nothing.
any | any | A value of any type.
Element | Element | What a view shows.
List | List[T] | Values in an order. | List[\${1:T}]
Map | Map[K, V] | Values by keys. | Map[\${1:str}, \${2:T}]
Set | Set[T] | Values, each once. | Set[\${1:T}]
Option | Option[T] | A value or none: \`Some(v)\`, \`None\`. | Option[\${1:T}]
Result | Result[T] | A value or a failure: \`Ok(v)\`, \`Error(message)\`. | Result[\${1:T}]
Id | Id[T] | The \`_id\` of a row. | Id[\${1:Table}]
Stream | Stream[T] | Values that come one after the other. | Stream[\${1:T}]
Tensor | Tensor[2] | Numbers in some dimensions. | Tensor[\${1:2}]
Json | Json | A JSON document.
Regex | Regex | A regular expression.
Request | Request | The request of a client.
`)
