//! Which common table expressions a name can mean at a place of a statement.

use datafusion::sql::sqlparser::ast::{Ident, Query};

/// The common table expressions in scope, while a visitor goes through a statement. The visitor calls
/// [`enter`](Self::enter) and [`leave`](Self::leave) before and after every query.
#[derive(Debug)]
pub(super) struct CteScopes {
    scopes: Vec<Scope>,
    normalize: bool,
}

/// The common table expressions of one query.
#[derive(Debug)]
struct Scope {
    names: Vec<String>,
    recursive: bool,
    /// How many of their queries have been entered. They come before the query's body.
    entered: usize,
    /// How many of the names are in scope: inside the query of one, those before it.
    visible: usize,
}

impl CteScopes {
    /// Nothing in scope. `normalize`: unquoted identifiers are in lower case (the session's setting).
    pub(super) fn new(normalize: bool) -> Self {
        Self {
            scopes: vec![],
            normalize,
        }
    }

    /// Goes into a query.
    pub(super) fn enter(&mut self, query: &Query) {
        if let Some(outer) = self.scopes.last_mut()
            && outer.entered < outer.names.len()
        {
            outer.entered += 1;
            outer.visible = if outer.recursive {
                outer.entered
            } else {
                outer.entered - 1
            };
        }
        let (names, recursive) = match &query.with {
            Some(with) => (
                with.cte_tables
                    .iter()
                    .map(|cte| self.normal(&cte.alias.name))
                    .collect(),
                with.recursive,
            ),
            None => (vec![], false),
        };
        self.scopes.push(Scope {
            names,
            recursive,
            entered: 0,
            visible: 0,
        });
    }

    /// Comes out of the query that was entered last.
    pub(super) fn leave(&mut self) {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut() {
            outer.visible = outer.entered;
        }
    }

    /// Whether a table of this name (of one part) would be a common table expression here.
    pub(super) fn is_cte(&self, ident: &Ident) -> bool {
        let name = self.normal(ident);
        self.scopes
            .iter()
            .any(|scope| scope.names.iter().take(scope.visible).any(|cte| *cte == name))
    }

    /// What an identifier means, as the planner has it.
    pub(super) fn normal(&self, ident: &Ident) -> String {
        if self.normalize && ident.quote_style.is_none() {
            ident.value.to_lowercase()
        } else {
            ident.value.clone()
        }
    }
}
