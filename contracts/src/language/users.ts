/** Users of a program, from `@table @auth(provider: password, identity: email) type User { … }`. */
export interface ProgramUsers {
  /** Declared name of the table. */
  readonly table: string
  /** Column with which users sign in; its values are unique. */
  readonly identity: string
  /** Whether users sign in with a password, or only with OpenID Connect. */
  readonly hasPassword: boolean
  /** Columns that users set when they sign up: required ones, in the order of their declaration. */
  readonly signUpColumns: readonly string[]
  /** Column with the roles of a user: `role`, a str, or `roles`, a list; null if there is none. */
  readonly roles: string | null
  /** Whether the program declares `on_sign_up(user)`. */
  readonly hasOnSignUp: boolean
}

/** Name of the function that runs in the transaction of a sign-up, and may refuse it. It is no endpoint. */
export const ON_SIGN_UP = 'on_sign_up'
