"""Where a C file can be mutated, and how.

A site is one expression of a function body with one small fault: the kinds of fault that people make and that
tests must notice. The file is parsed by libclang, so that a site is an expression with known types, not a
pattern of text. Expressions that come out of a macro's body are no sites: their text is elsewhere.
"""

import dataclasses
import re

from clang.cindex import CursorKind as K
from clang.cindex import Index, StorageClass, TranslationUnit, TypeKind

BOUND = {'<': '<=', '<=': '<', '>': '>=', '>=': '>'}
MIRROR = {'<': '>', '<=': '>=', '>': '<', '>=': '<='}
EQUAL = {'==': '!=', '!=': '=='}
LOGIC = {'&&': '||', '||': '&&'}
SIGN = {'+': '-', '-': '+', '*': '/', '/': '*'}
ASSIGN = {'+=': '-=', '-=': '+=', '*=': '/=', '/=': '*='}
FLOATS = (TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.LONGDOUBLE)
LEAVING = (K.RETURN_STMT, K.BREAK_STMT, K.CONTINUE_STMT, K.GOTO_STMT)

# Calls whose absence shows in leaks or hangs alone, or in a log.
KEEP_CALLS = re.compile(r'(free|clear|close|unref|decref|(un)?lock|signal|broadcast|destroy|end|log|unlink|abort'
                        r'|exit|va_start|va_end|va_copy|printf|join|munmap)$')

# Calls whose first two arguments may be swapped, at least where the result is compared with zero.
COMMUTES = re.compile(r'(calloc|fmin|fmax|hypot|strcmp|strncmp|strcasecmp|memcmp|streq|secret_equal|gcd)$')


@dataclasses.dataclass
class Site:
    """source[begin:end] becomes `mutated` where the mutant is chosen, and stays `original` otherwise."""
    file: str
    line: int
    begin: int
    end: int
    kind: str
    original: str
    mutated: str

    def key(self):
        return f'{self.file}: {self.kind}: {squeeze(self.original)} -> {squeeze(self.mutated)}'


def squeeze(text):
    return re.sub(r'\s+', ' ', text)


class Finder:
    """The sites of one file, in the order of the file."""

    def __init__(self, path, name, flags):
        with open(path, 'rb') as source:
            self.text = source.read()
        self.name = name
        self.path = path
        self.sites = []
        self.unit = Index.create().parse(
            path, args=flags, options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        self.literal_macros = {}
        self.bodies = []  # (begin, end) of functions
        self.fixed = []   # (begin, end) of what must be constant when it is compiled

    # ---- text ----

    def of(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def slice(self, begin, end):
        return self.text[begin:end].decode('utf-8', 'replace')

    def text_of(self, cursor):
        return self.slice(*self.of(cursor))

    def between(self, left, right):
        begin, end = self.of(left)[1], self.of(right)[0]
        return self.slice(begin, end).strip() if begin <= end else ''

    def add(self, begin, end, kind, mutated):
        line = self.text.count(b'\n', 0, begin) + 1
        self.sites.append(Site(self.name, line, begin, end, kind, self.slice(begin, end), mutated))

    # ---- kinds of fault ----

    def binary(self, cursor, children):
        left, right = children
        op = self.between(left, right)
        begin, end = self.of(cursor)
        a, b = self.text_of(left), self.text_of(right)
        for kind, table in (('bound', BOUND), ('mirror', MIRROR), ('equal', EQUAL), ('logic', LOGIC)):
            if op in table:
                self.add(begin, end, kind, f'{a} {table[op]} {b}')
        if op in SIGN and self.is_number(left) and self.is_number(right):
            if op in '+-' or cursor.type.get_canonical().kind in FLOATS:
                self.add(begin, end, 'sign', f'({a}) {SIGN[op]} ({b})')

    def assignment(self, cursor, children):
        left, right = children
        op = self.between(left, right)
        if op in ASSIGN and self.is_number(left) and self.is_number(right):
            if op in ('+=', '-=') or left.type.get_canonical().kind in FLOATS:
                self.add(*self.of(cursor), 'sign', f'{self.text_of(left)} {ASSIGN[op]} {self.text_of(right)}')

    def is_number(self, cursor):
        kind = cursor.type.get_canonical().kind
        return kind in FLOATS or TypeKind.BOOL.value <= kind.value <= TypeKind.INT128.value

    def condition(self, cursor, children):
        test, then = children[0], children[1]
        begin, end = self.of(test)
        if self.slice(begin - 1, begin) != '(' or self.slice(end, end + 1) != ')':
            return
        text = self.slice(begin, end)
        self.add(begin, end, 'negate', f'!({text})')
        if then.kind == K.COMPOUND_STMT:
            inner = list(then.get_children())
            then = inner[0] if len(inner) == 1 else then
        if then.kind in LEAVING and len(children) == 2:
            self.add(begin, end, 'drop check', f'0 && ({text})')

    def unary(self, cursor, children):
        text, inner = self.text_of(cursor), self.text_of(children[0])
        if text == '-' + inner and self.is_number(children[0]):
            self.add(*self.of(cursor), 'sign', inner)
        elif text == '!' + inner:
            self.add(*self.of(cursor), 'negate', inner)

    def constant(self, cursor):
        text = self.text_of(cursor)
        if re.fullmatch(r'\d+[uUlL]*|0[xX][0-9a-fA-F]+[uUlL]*', text):
            self.add(*self.of(cursor), 'constant', f'{text} + 1')
        elif re.fullmatch(r'[\d.]+([eE][-+]?\d+)?[fFlL]?', text):
            zero = float(text.rstrip('fFlL')) == 0
            self.add(*self.of(cursor), 'constant', '1.0' if zero else f'{text} * 1.5')

    def code(self, cursor):
        """An enumerator of pfc_code: another error, or none."""
        text = self.text_of(cursor)
        if re.fullmatch(r'PFC_(OK|E[A-Z]+)', text):
            other = {'PFC_OK': 'PFC_EINVAL', 'PFC_EINVAL': 'PFC_ENOTFOUND'}.get(text, 'PFC_EINVAL')
            self.add(*self.of(cursor), 'code', other)

    def returned(self, cursor, children):
        text = self.text_of(children[0]) if children else ''
        begin = self.of(cursor)[0] + len('return ')
        for word, other in (('true', 'false'), ('false', 'true')):
            if self.slice(begin, begin + len(word) + 1) == word + ';':
                self.add(begin, begin + len(word), 'exit', other)
        if re.fullmatch(r'-?\d+|[A-Z][A-Z0-9_]*EXIT[A-Z0-9_]*', text) and self.is_number(children[0]):
            self.add(*self.of(children[0]), 'exit', f'{text} + 1')
        elif re.fullmatch(r'PFC_E[A-Z]+', text):
            self.add(*self.of(children[0]), 'exit', 'PFC_OK')

    def call(self, cursor, statement):
        args = list(cursor.get_arguments())
        begin, end = self.of(cursor)
        text = self.slice(begin, end)
        name = cursor.spelling
        if not name or not text.startswith(name + '('):
            return
        if statement and not KEEP_CALLS.search(name):
            self.add(begin, end, 'drop call', '(void)0')
        for a, b in zip(args, args[1:]) if not COMMUTES.search(name) else ():
            (a0, a1), (b0, b1) = self.of(a), self.of(b)
            same = a.type.get_canonical().spelling == b.type.get_canonical().spelling
            if not (same and begin < a0 < a1 <= b0 < b1 < end) or self.slice(a0, a1) == self.slice(b0, b1):
                continue
            if self.is_format(cursor, a) or self.is_format(cursor, b):
                continue
            self.add(begin, end, 'swap', self.slice(begin, a0) + self.slice(b0, b1) + self.slice(a1, b0) +
                     self.slice(a0, a1) + self.slice(b1, end))

    def is_format(self, call, arg):
        """The format of a variadic call: -Wformat=2 refuses another text in its place."""
        function = call.referenced
        return function is not None and function.type.kind == TypeKind.FUNCTIONPROTO and \
            function.type.is_function_variadic() and re.match(r'(PRI\w+\s*)?"', self.text_of(arg)) is not None

    # ---- walking ----

    def visit(self, cursor, parent):
        kind = cursor.kind
        children = list(cursor.get_children())
        if kind == K.VAR_DECL and (cursor.storage_class == StorageClass.STATIC or
                                   cursor.type.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY)):
            return
        if kind in (K.ENUM_DECL, K.STRUCT_DECL, K.UNION_DECL, K.TYPEDEF_DECL):
            return
        if kind == K.CASE_STMT:
            children = children[1:]
        elif kind == K.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, children)
        elif kind == K.COMPOUND_ASSIGNMENT_OPERATOR and len(children) == 2:
            self.assignment(cursor, children)
        elif kind in (K.IF_STMT, K.CONDITIONAL_OPERATOR) and len(children) >= 2:
            if kind == K.IF_STMT:
                self.condition(cursor, children)
        elif kind == K.UNARY_OPERATOR and len(children) == 1:
            self.unary(cursor, children)
        elif kind in (K.INTEGER_LITERAL, K.FLOATING_LITERAL):
            if not (parent.kind == K.INIT_LIST_EXPR and self.text_of(cursor) == '0'):
                self.constant(cursor)
        elif kind == K.DECL_REF_EXPR and cursor.referenced and cursor.referenced.kind == K.ENUM_CONSTANT_DECL:
            if parent.kind != K.RETURN_STMT:
                self.code(cursor)
        elif kind == K.RETURN_STMT:
            self.returned(cursor, children)
        elif kind == K.CALL_EXPR:
            self.call(cursor, parent.kind == K.COMPOUND_STMT)
        for child in children:
            self.visit(child, cursor)

    def macros(self):
        """Adds the uses of macros whose value is a single number."""
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == K.MACRO_DEFINITION:
                words = [token.spelling for token in cursor.get_tokens()][1:]
                words = [word for word in words if word not in '()']
                if len(words) == 1 and re.match(r'\d', words[0]):
                    self.literal_macros[cursor.spelling] = words[0]
            elif cursor.kind == K.MACRO_INSTANTIATION and cursor.location.file and \
                    cursor.location.file.name == self.path:
                begin, end = self.of(cursor)
                name = self.slice(begin, end)
                value = self.literal_macros.get(name)
                if value is None or name in ('true', 'false') or not any(a < begin < b for a, b in self.bodies):
                    continue
                change = '* 1.5' if re.search(r'[.eE]', value) and not value.startswith('0x') else '+ 1'
                self.add(begin, end, 'constant', f'{name} {change}')

    def find(self):
        for cursor in self.unit.cursor.get_children():
            if cursor.kind != K.FUNCTION_DECL or not cursor.is_definition() or not cursor.location.file or \
                    cursor.location.file.name != self.path:
                continue
            body = [child for child in cursor.get_children() if child.kind == K.COMPOUND_STMT]
            if body:
                self.bodies.append(self.of(body[0]))
                self.visit(body[0], cursor)
        self.macros()
        self.sites = [s for s in self.sites if 0 <= s.begin < s.end and s.original.strip()]
        return sorted(self.sites, key=lambda s: (s.begin, s.end, s.kind, s.mutated))


def find(path, name, flags):
    return Finder(path, name, flags).find()
