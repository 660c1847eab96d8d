/** Functions of the standard library, by namespace. Hosts may add namespaces. */
export const STD_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    fs:
      'read write exists is_file is_dir mkdir list_dir glob list_dir_detailed stat remove remove_dir_all copy canonicalize ' +
      'read_bytes',
    path: 'join join_many basename dirname extension',
    env: 'get args set',
    process:
      'which run run_ex run_capture run_capture_ex run_capture_lines run_capture_json spawn_background exec ' +
      'register_exit_command exit',
    json: 'parse read_str read_f64 quote stringify encode value',
    csv: 'parse parse_records render',
    toml: 'parse render',
    yaml: 'parse render',
    io: 'open save',
    regex: 'compile',
    http: 'get_text post_json',
    crypto: 'hash_fast hash_secure uuid',
    time: 'now_ms',
    log: 'debug info warn error',
    random: 'float int choice',
    list: 'sort reduce',
    agentos: 'mutation_kind_for_tool',
    math: 'sqrt cbrt exp sin cos tan asin acos atan atan2 ln log2 log10 floor ceil pow pi e min max'
  }).map(([namespace, members]) => [namespace, members.split(' ')] as const)
)

/** Functions of namespaces outside `std`, which other plugins provide. */
export const NAMESPACE_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    Browser: 'open goto click fill wait_for text html screenshot close',
    HTTP: 'get_text post_json',
    OpenClaw: 'list_skills call subscribe unsubscribe notify',
    Speech: 'transcribe'
  }).map(([namespace, members]) => [namespace, members.split(' ')] as const)
)
